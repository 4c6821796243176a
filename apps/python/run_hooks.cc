#include "apps/python/run_hooks.h"

#include <utility>

#include "apps/python/errors.h"
#include "models/training/trainer.h"
#include "tensor/errors.h"
#include "tensor/tensor.h"

namespace dtnn::python {
namespace py = pybind11;

template <class... Arguments>
absl::Status RunHooks::Call(const std::vector<py::function>& functions,
                            const Arguments&... arguments) {
  calling_ = true;
  absl::Status status;
  try {
    for (const py::function& function : functions) function(arguments...);
  } catch (const py::error_already_set&) {
    raised_ = std::current_exception();
    status = absl::CancelledError("a callback raised an exception");
  }
  calling_ = false;
  return status;
}

absl::Status RunHooks::OnPassBegin(const Pass& pass) {
  if (pass.kind == Pass::Kind::kTest) signals_ = {};
  if (pass.kind != Pass::Kind::kTraining || functions_.epoch_begin.empty()) {
    return absl::OkStatus();
  }
  const py::gil_scoped_acquire held;
  return Call(functions_.epoch_begin, py::int_(pass.epoch));
}

bool RunHooks::Interrupted() {
  if (stop_) {
    raised_ = std::make_exception_ptr(StatusError{FailedPrecondition(
        "the function that dtnn.run_as_rank called has raised an error, which ends its runs")});
    return true;
  }
  // Signals are Python's own, unless the run holds them.
  if (!signals_.Raised()) return false;
  const py::gil_scoped_acquire held;
  raised_ = std::make_exception_ptr(py::error_already_set());
  return true;
}

absl::Status RunHooks::OnBatchEnd(const Pass& pass) {
  if (Interrupted()) {
    if (pass.kind != Pass::Kind::kTest) return absl::CancelledError("the run was interrupted");
    pass.trainer->Stop();
    return absl::OkStatus();
  }
  if (pass.kind == Pass::Kind::kTraining) {
    if (functions_.batch_end.empty()) return absl::OkStatus();
    const py::gil_scoped_acquire held;
    return Call(functions_.batch_end, py::int_(pass.step), DictOf(pass.averages->Values()));
  }
  if (outputs_ != nullptr && pass.predictions != nullptr) {
    DispatchFloating(pass.predictions->dtype(), [&]<typename T>(T) {
      const T* values = pass.predictions->data<T>();
      outputs_->insert(outputs_->end(), values, values + pass.predictions->num_elements());
    });
  }
  return absl::OkStatus();
}

absl::Status RunHooks::OnEpochEnd(const Pass& training, const Pass* validation) {
  epochs_.push_back({.epoch = training.epoch, .metrics = MetricsOf(training, validation)});
  if (functions_.epoch_end.empty()) return absl::OkStatus();
  const py::gil_scoped_acquire held;
  return Call(functions_.epoch_end, py::int_(training.epoch), DictOf(epochs_.back().metrics));
}

int RunHooks::Visit(visitproc visit, void* arg) const {
  for (const auto* functions :
       {&functions_.epoch_begin, &functions_.batch_end, &functions_.epoch_end}) {
    for (const py::function& function : *functions) Py_VISIT(function.ptr());
  }
  return 0;
}

void RunHooks::Rethrow() {
  if (raised_ != nullptr) std::rethrow_exception(std::exchange(raised_, nullptr));
}

py::dict DictOf(const NamedMetrics& metrics) {
  py::dict dict;
  for (const auto& [name, value] : metrics) dict[Text(name)] = value;
  return dict;
}

}  // namespace dtnn::python
