"""Train the bundled model, measure it, and write its folder."""

from make.train import main

main()
