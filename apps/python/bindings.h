// The parts of the module dtnn._core, each in the source of its name. The package's Python
// (dtnn/*.py) is what users see: it turns arguments into the few types that these take.

#ifndef DTNN_APPS_PYTHON_BINDINGS_H_
#define DTNN_APPS_PYTHON_BINDINGS_H_

#include <pybind11/pybind11.h>

namespace dtnn::python {

void BindPredictor(pybind11::module_& module);
void BindNetwork(pybind11::module_& module);
void BindData(pybind11::module_& module);
void BindConversion(pybind11::module_& module);
void BindRanks(pybind11::module_& module);
void BindRun(pybind11::module_& module);

}  // namespace dtnn::python

#endif  // DTNN_APPS_PYTHON_BINDINGS_H_
