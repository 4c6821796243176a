// The extension module dtnn._core.

#include <pybind11/pybind11.h>

#include <string>

#include "apps/python/bindings.h"
#include "apps/python/errors.h"
#include "apps/python/keywords.h"
#include "tensor/text/version.h"

namespace {

// Before 2.12, pybind11 knows the types of NumPy 1 only.
void CheckNumpy() {
#if PYBIND11_VERSION_HEX < 0x020C0000
  const std::string version = pybind11::str(pybind11::module_::import("numpy").attr("__version__"));
  if (version.starts_with("1.")) return;
  throw pybind11::import_error("dtnn was built for NumPy 1, and this is NumPy " + version +
                               "; install numpy<2, or build dtnn with pybind11 2.12 or later");
#endif
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  CheckNumpy();
  module.attr("version") = pybind11::str(dtnn::Version().data(), dtnn::Version().size());
  dtnn::python::BindErrors(module);
  dtnn::python::BindKeywords(module);
  dtnn::python::BindData(module);
  dtnn::python::BindNetwork(module);
  dtnn::python::BindPredictor(module);
  dtnn::python::BindConversion(module);
  dtnn::python::BindRanks(module);
  dtnn::python::BindRun(module);
}
