// Errors of the library as exceptions of Python, with the words of the programs: members of
// RunOptions go by the keyword of Run that sets them.

#ifndef DTNN_APPS_PYTHON_ERRORS_H_
#define DTNN_APPS_PYTHON_ERRORS_H_

#include <pybind11/pybind11.h>

#include <string>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/flags/option_spec.h"

namespace dtnn::python {

// Becomes dtnn.Error or a class of it; KeyboardInterrupt where Ctrl-C ended a run, SystemExit where
// SIGTERM did.
struct StatusError {
  absl::Status status;
};

inline void Check(const absl::Status& status) {
  if (!status.ok()) throw StatusError{status};
}
template <typename T>
T Check(absl::StatusOr<T> value) {
  Check(value.status());
  return *std::move(value);
}

// Options that `find` knows, "--num-epochs", as "num_epochs".
std::string NameKeywords(std::string_view text,
                         absl::FunctionRef<const OptionSpec*(std::string_view name)> find);

// "--num-epochs" and "RunOptions::training.epochs" as "num_epochs".
std::string NameKeywords(std::string_view text);

// Text of files and messages, which may not be UTF-8.
pybind11::str Text(std::string_view text);

void BindErrors(pybind11::module_& module);

}  // namespace dtnn::python

#endif  // DTNN_APPS_PYTHON_ERRORS_H_
