"""Usage: reference.py predict MODEL ROWS | train ROWS MODEL PARAMETER=VALUE...

ROWS is a CSV file without a header: features, then the label. Prints one prediction per row of ROWS."""
import sys

import lightgbm
import numpy

command, arguments = sys.argv[1], sys.argv[2:]
if command == "predict":
    model, rows = lightgbm.Booster(model_file=arguments[0]), arguments[1]
else:
    rows, path = arguments[:2]
parameters = dict(p.split("=") for p in arguments[2:])
table = numpy.genfromtxt(rows, delimiter=",")
features, labels = table[:, :-1], table[:, -1]
if command == "train":
    categorical = [int(c) for c in parameters.pop("categorical", "").split("+") if c]
    data = lightgbm.Dataset(features, labels, categorical_feature=categorical)
    model = lightgbm.train(parameters | {"verbosity": -1, "num_threads": 1, "deterministic": True}, data)
    model.save_model(path)
for prediction in model.predict(features, num_threads=1).ravel():
    print(repr(float(prediction)))
