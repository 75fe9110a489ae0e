"""The production of the bundled model: its corpus, its tokenizer, its training, and its measurements.

From the folder above this one, with torch and safetensors installed:

    python -m make --out FOLDER --steps 12341 --seed 0     train, measure, and write the folder
    python -m make.measure FOLDER                          measure a folder anew

The same steps and seed produce the same bytes with the same torch on the same kind of processor. The program
never runs this package, and the wheel does not contain it.
"""
