// What Python is called for during a run, and what it can ask for afterwards: hooks, the history,
// and the outputs of an evaluation.

#ifndef DTNN_APPS_PYTHON_RUN_HOOKS_H_
#define DTNN_APPS_PYTHON_RUN_HOOKS_H_

#include <pybind11/pybind11.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/python/signals.h"
#include "models/training/callback.h"

namespace dtnn::python {

// The run computes without the GIL; each hook is called with it. What one raises ends the run, and
// is raised by the call that trains.
class RunHooks : public Callback {
 public:
  struct Functions {
    std::vector<pybind11::function> epoch_begin;  // (epoch)
    std::vector<pybind11::function> batch_end;    // (step, metrics)
    std::vector<pybind11::function> epoch_end;    // (epoch, metrics)
  };
  // One row per epoch that this process trained.
  struct Epoch {
    int64_t epoch;
    NamedMetrics metrics;
  };

  explicit RunHooks(Functions functions) : functions_(std::move(functions)) {}

  absl::Status OnPassBegin(const Pass& pass) override;
  absl::Status OnBatchEnd(const Pass& pass) override;
  absl::Status OnEpochEnd(const Pass& training, const Pass* validation) override;

  const std::vector<Epoch>& epochs() const { return epochs_; }
  // Where the outputs of evaluations go; null: nowhere.
  void Collect(std::vector<double>* outputs) { outputs_ = outputs; }
  // Whether Python is being called.
  bool calling() const { return calling_; }
  // From any thread: a pass ends after its batch, and the call that computes it raises.
  void Stop() { stop_ = true; }
  // For Python's collector of cycles.
  int Visit(visitproc visit, void* arg) const;
  void Forget() { functions_ = {}; }
  // Raises what a hook, a handler of a signal or Stop has raised.
  void Rethrow();

 private:
  // By Stop or a handler of a signal, with what it raises in raised_.
  bool Interrupted();
  // With the GIL.
  template <class... Arguments>
  absl::Status Call(const std::vector<pybind11::function>& functions,
                    const Arguments&... arguments);

  Functions functions_;
  std::vector<Epoch> epochs_;
  std::vector<double>* outputs_ = nullptr;
  bool calling_ = false;
  std::atomic<bool> stop_ = false;
  SignalCheck signals_;
  std::exception_ptr raised_;
};

// {"categorical_accuracy": 91.2}
pybind11::dict DictOf(const NamedMetrics& metrics);

}  // namespace dtnn::python

#endif  // DTNN_APPS_PYTHON_RUN_HOOKS_H_
