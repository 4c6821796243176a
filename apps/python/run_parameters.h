// The parameters of a run as arrays of numpy, both ways. With the GIL.

#ifndef DTNN_APPS_PYTHON_RUN_PARAMETERS_H_
#define DTNN_APPS_PYTHON_RUN_PARAMETERS_H_

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <string>
#include <utility>
#include <vector>

#include "models/run/run.h"

namespace dtnn::python {

using NamedArrays = std::vector<std::pair<std::string, pybind11::array>>;

// Copies, by the keys that files have.
pybind11::dict ParametersOf(Run& run);

// Arrays of the store's type, dense; all are checked before the first is copied. Throws StatusError
// for a name, shape, type or number that the run cannot have.
void SetParametersOf(Run& run, const NamedArrays& arrays);

}  // namespace dtnn::python

#endif  // DTNN_APPS_PYTHON_RUN_PARAMETERS_H_
