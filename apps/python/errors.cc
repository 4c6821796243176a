#include "apps/python/errors.h"

#include <csignal>
#include <exception>

#include "absl/strings/str_replace.h"
#include "apps/flags/argument_flags.h"
#include "apps/flags/option_table.h"
#include "apps/python/keywords.h"
#include "comm/ranks/job/exit_code.h"

namespace dtnn::python {
namespace py = pybind11;
namespace {

struct Classes {
  py::handle error, invalid_argument, not_found, out_of_memory;
};
Classes classes;

constexpr char kHeldHere[] =
    "in use by this process, whose checkpoints this run would overwrite; end the other run,";
constexpr char kHeldByRun[] =
    "in use by a run of this process, whose checkpoints this run would overwrite; end it with "
    "run.end() or a `with` block,";
constexpr char kImports[] = "dtnn.import_onnx and dtnn.import_weights make models of";

py::handle NewClass(py::module_& module, const char* name, const char* doc, py::tuple bases) {
  const std::string full = std::string("dtnn.") + name;
  PyObject* made = PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.ptr(), nullptr);
  if (made == nullptr) throw py::error_already_set();
  module.attr(name) = py::handle(made);
  return made;  // lives as long as the process
}

py::handle ClassOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return classes.invalid_argument;
    case absl::StatusCode::kNotFound:
      return classes.not_found;
    case absl::StatusCode::kResourceExhausted:
      return classes.out_of_memory;
    default:
      return classes.error;
  }
}

void SetError(const absl::Status& status) {
  const int exit_code = ExitCodeOf(status);
  if (exit_code == ExitCodeOfSignal(SIGTERM) || exit_code == ExitCodeOfSignal(SIGHUP)) {
    PyErr_SetObject(PyExc_SystemExit, py::int_(exit_code).ptr());
    return;
  }
  const py::str message =
      Text(NameKeywords(std::string_view(status.message().data(), status.message().size())));
  const py::handle type =
      exit_code == ExitCodeOfSignal(SIGINT) ? py::handle(PyExc_KeyboardInterrupt) : ClassOf(status);
  PyErr_SetObject(type.ptr(), message.ptr());
}

bool OfFlag(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; }

}  // namespace

std::string NameKeywords(std::string_view flags,
                         absl::FunctionRef<const OptionSpec*(std::string_view name)> find) {
  std::string named;
  for (size_t at = 0; at < flags.size();) {
    size_t end = at + 2;
    const bool begins = flags.compare(at, 2, "--") == 0 && (at == 0 || flags[at - 1] != '-');
    while (begins && end < flags.size() && OfFlag(flags[end])) ++end;
    const OptionSpec* option = begins ? find(flags.substr(at + 2, end - at - 2)) : nullptr;
    if (option == nullptr) {
      named += flags[at++];
    } else {
      named += Keyword(*option);
      at = end;
    }
  }
  return named;
}

std::string NameKeywords(std::string_view text) {
  std::string named = NameKeywords(NameFlags(text), [](std::string_view name) {
    const OptionSpec* const option = FindOption(name);
    return option != nullptr && IsKeyword(*option) ? option : nullptr;
  });
  // Values that list others, and functions.
  absl::StrReplaceAll({{"model=list", "dtnn.models()"},
                       {"dataset=list", "dtnn.datasets()"},
                       {"the program import makes a model of", kImports},
                       {"the program quantize finds them", "dtnn.quantize finds them"},
                       {kHeldHere, kHeldByRun},
                       {"Run::Create begins", "dtnn.Run begins"},
                       {"Run::Fit", "Run.fit"}},
                      &named);
  return named;
}

py::str Text(std::string_view text) {
  PyObject* made = PyUnicode_DecodeUTF8(text.data(), Py_ssize_t(text.size()), "backslashreplace");
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(made);
}

void BindErrors(py::module_& module) {
  classes.error = NewClass(module, "Error", "What the library refuses or cannot do.",
                           py::make_tuple(py::handle(PyExc_RuntimeError)));
  const auto kind = [&](const char* name, const char* doc, PyObject* base) {
    return NewClass(module, name, doc, py::make_tuple(classes.error, py::handle(base)));
  };
  classes.invalid_argument =
      kind("InvalidArgument", "A value, a file or an array that is wrong.", PyExc_ValueError);
  classes.not_found = kind("NotFound", "A file that is not there.", PyExc_FileNotFoundError);
  classes.out_of_memory = kind("OutOfMemory", "Memory does not suffice.", PyExc_MemoryError);
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const StatusError& error) {
      SetError(error.status);
    }
  });
}

}  // namespace dtnn::python
