"""Train the model in the box, measure it, and write its folder."""

from make.train import main

main()
