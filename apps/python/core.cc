// The extension module dtnn._core.

#include <pybind11/pybind11.h>

#include "apps/python/bindings.h"
#include "apps/python/errors.h"
#include "apps/python/keywords.h"
#include "tensor/text/version.h"

PYBIND11_MODULE(_core, module) {
  module.attr("version") = pybind11::str(dtnn::Version().data(), dtnn::Version().size());
  dtnn::python::BindErrors(module);
  dtnn::python::BindKeywords(module);
  dtnn::python::BindData(module);
  dtnn::python::BindNetwork(module);
  dtnn::python::BindPredictor(module);
  dtnn::python::BindRun(module);
}
