#include "models/run/run.h"

#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "apps/flags/option_table.h"
#include "apps/flags/validate.h"
#include "apps/python/bindings.h"
#include "apps/python/data.h"
#include "apps/python/errors.h"
#include "apps/python/keywords.h"
#include "apps/python/network.h"
#include "apps/python/numpy_types.h"
#include "apps/python/ranks.h"
#include "apps/python/run_arguments.h"
#include "apps/python/run_hooks.h"
#include "apps/python/run_parameters.h"
#include "models/graph/table.h"
#include "models/run/options/option_members.h"
#include "tensor/errors.h"
#include "tensor/text/counted.h"
#include "tensor/text/str_cat.h"

namespace dtnn::python {
namespace py = pybind11;
namespace {

class PythonRun : public UsesRanks {
 public:
  PythonRun(const Keywords& keywords, const std::string& model_file, const Layers* network,
            const SharedDataset* dataset, RunHooks::Functions hooks, py::object print,
            py::object warn, bool stop_on_signal)
      : hooks_(std::move(hooks)), print_(Kept(std::move(print))), stop_on_signal_(stop_on_signal) {
    // Warnings wait until the run is made, since those of Python may be exceptions.
    const auto found = std::make_shared<std::optional<std::vector<std::string>>>(std::in_place);
    const auto tell = [found, later = Sink(Kept(warn))](std::string_view line) {
      if (*found) return (*found)->emplace_back(line), void();
      later(line);
    };
    RunObjects objects = {.callbacks = {&hooks_},
                          .sinks = {.print = Sink(print_), .warn = tell},
                          .stop_on_signal = stop_on_signal};
    if (dataset != nullptr) objects.dataset = dataset->data;
    if (network != nullptr) {
      objects.network = network->For(dataset == nullptr ? nullptr : dataset->data.get());
    }
    absl::StatusOr<std::unique_ptr<Run>> run = absl::InternalError("not made");
    const ShareOfThreads share(threads());
    {
      const py::gil_scoped_release released;
      dtnn::Options options = Check(OptionsOf(keywords, model_file));
      objects.communicator = RanksOf(options, ranks());
      const bool together = objects.communicator != nullptr;
      run = Run::Create(options, std::move(objects));
      if (run.ok()) {
        run_ = *std::move(run);
        name_ = run_->graph().name();
        if (dataset != nullptr) WarnOfReading(options, tell);
        WarnOfRanks(options, tell);
        if (together) WarnOfMeeting(options, tell);
        static_cast<RunOptions&>(options) = run_->options();  // a model, for example, has said more
        for (const std::string& line : WithoutEffect(options)) tell(line);
      }
    }
    const std::vector<std::string> lines = *std::exchange(*found, std::nullopt);
    try {
      for (const std::string& line : lines) warn(Text(NameKeywords(line)));
    } catch (...) {
      Drop();
      throw;
    }
    Check(run.status());
    busy_ = false;
  }
  ~PythonRun() {
    busy_ = true;
    Drop();
  }

  void Fit(std::optional<int64_t> epochs) {
    const Use use(*this);
    const Signals signals(stop_on_signal_);
    absl::Status status;
    {
      const py::gil_scoped_release released;
      status = epochs ? run_->Fit(*epochs) : run_->Fit();
    }
    stopped_ = stopped_ || absl::IsCancelled(status);
    DropIfFailed();
    hooks_.Rethrow();
    Check(status);
  }

  py::dict Evaluate(const SharedDataset* data, bool train) {
    const Use use(*this);
    return DictOf(Test(data, train ? Split::kTrain : Split::kTest));
  }

  // The outputs for the test split of `data`, on each rank.
  py::array Predict(const SharedDataset& data) {
    const Use use(*this);
    const int64_t samples = data.data->size(Split::kTest);
    std::vector<double> outputs;
    outputs.reserve(size_t(samples * OutputsPerSample()));
    hooks_.Collect(&outputs);
    try {
      Test(&data, Split::kTest, /*undivided=*/true);
    } catch (...) {
      hooks_.Collect(nullptr);
      throw;
    }
    hooks_.Collect(nullptr);
    if (int64_t(outputs.size()) != samples * OutputsPerSample()) {
      throw StatusError{absl::InternalError("the evaluation gave outputs for other samples")};
    }
    py::array_t<double> result({samples, OutputsPerSample()}, outputs.data());
    return result.attr("astype")(NumpyType(run_->store().dtype()));
  }

  void Save(const std::string& path) {
    if (hooks_.calling()) {
      const Reading reading(*this);
      return Check(run_->Save(path));
    }
    const Use use(*this);
    const py::gil_scoped_release released;
    Check(run_->Save(path));
  }

  py::dict Parameters() const {
    const Reading reading(*this);
    return ParametersOf(*run_);
  }
  void SetParameters(const NamedArrays& arrays) {
    const Reading reading(*this);
    SetParametersOf(*run_, arrays);
  }

  py::list History() const {
    CheckIdle();
    py::list epochs;
    for (const RunHooks::Epoch& epoch : hooks_.epochs()) {
      epochs.append(py::make_tuple(epoch.epoch, DictOf(epoch.metrics)));
    }
    return epochs;
  }

  // As they are in force, by keyword.
  py::dict Options() const {
    CheckOpen();
    const RunOptions in_force = run_->options();  // the run may end while objects are made
    py::dict options;
    for (const OptionSpec& option : OptionTable()) {
      if (!IsKeyword(option)) continue;
      const auto member = std::ranges::find(OptionMembers(), option.path, &OptionMember::path);
      const OptionValue value = member->load(in_force);
      options[py::str(Keyword(option))] = std::holds_alternative<std::string>(value)
                                              ? py::object(Text(std::get<std::string>(value)))
                                              : py::cast(value);
    }
    return options;
  }

  void Stop() {
    const Reading reading(*this);
    run_->trainer().Stop();
  }
  double LearningRate() const {
    const Reading reading(*this);
    return run_->trainer().learning_rate();
  }
  void SetLearningRate(double rate) {
    const Reading reading(*this);
    if (!(rate > 0 && rate <= 1e38)) {
      throw StatusError{InvalidArgument("learning_rate=", rate, ": must be a real number > 0")};
    }
    run_->trainer().set_learning_rate(rate);
  }
  int64_t Epochs() const {
    CheckIdle();
    return run_ == nullptr ? epochs_ : run_->trainer().epochs_done();
  }
  int64_t Steps() const {
    CheckIdle();
    return run_ == nullptr ? steps_ : run_->trainer().steps_done();
  }
  void End() {
    if (busy_) Busy();
    if (run_ == nullptr) return;
    const Use use(*this);
    {
      const py::gil_scoped_release released;
      run_->End();
    }
    Drop();
  }

  SharedDataset Data() const {
    CheckOpen();
    return {run_->shared_dataset()};
  }
  // For Python's collector of cycles, which finds no run that computes.
  int Visit(visitproc visit, void* arg) const {
    Py_VISIT(print_->ptr());
    return hooks_.Visit(visit, arg);
  }
  void Forget() {
    LetGoOfPrint();
    hooks_.Forget();
  }
  void StopRun() override { hooks_.Stop(); }
  void DropRun() override {
    const py::object self = py::cast(this);  // which another thread may let go of meanwhile
    Drop();
  }
  // In one line, whatever it is doing.
  py::str Repr() const {
    std::string text = StrCat("<dtnn.Run of ", name_, ": ");
    if (busy_ && !hooks_.calling()) return Text(text + "computes>");
    StrAppend(&text, Counted(Epochs(), "epoch"), ", ", Counted(Steps(), "step"),
              run_ == nullptr || run_->ended() ? ", has ended>" : ">");
    return Text(text);
  }
  py::str Describe() const {
    CheckOpen();
    return Text(
        FormatTable(run_->graph(), run_->store().dtype(), run_->store().all_values().device()));
  }

 private:
  // A run computes one thing at a time.
  struct Use {
    explicit Use(PythonRun& run) : run(run), share(run.threads()) {
      if (run.busy_) Busy();
      run.CheckOpen();
      run.busy_ = true;
    }
    ~Use() { run.busy_ = false; }
    PythonRun& run;
    const ShareOfThreads share;
  };
  // Ctrl-C ends one run of a process.
  struct Signals {
    explicit Signals(bool wanted) : wanted(wanted) {
      if (wanted && std::exchange(held, true)) {
        throw StatusError{
            FailedPrecondition("another run of this process trains and ends after Ctrl-C; give one "
                               "of them stop_on_signal=False")};
      }
    }
    ~Signals() {
      if (wanted) held = false;
    }
    const bool wanted;
    static inline bool held = false;
  };
  // What callbacks may do too, and others only between two computations. It holds the GIL.
  struct Reading {
    explicit Reading(const PythonRun& run) {
      run.CheckIdle();
      run.CheckOpen();
    }
  };
  void CheckIdle() const {
    if (busy_ && !hooks_.calling()) Busy();
  }
  void CheckOpen() const {
    if (run_ != nullptr) return;
    throw StatusError{
        FailedPrecondition("this run has ended; dtnn.Run begins another, which can resume")};
  }
  // A run that failed leaves its folder of checkpoints to others. One that a signal or a callback
  // ended has left it already, and can still be saved and tested, and its parameters read; so can
  // one without such a folder.
  void DropIfFailed() {
    if (!stopped_ && run_->ended() && !run_->options().checkpoint.folder.empty()) Drop();
  }
  void Drop() {
    if (run_ == nullptr) return;
    epochs_ = run_->trainer().epochs_done();
    steps_ = run_->trainer().steps_done();
    // Others see that it has ended before they get the GIL.
    std::unique_ptr<Run> run = std::move(run_);
    const bool busy = std::exchange(busy_, true);
    {
      // Threads of loaders end, and let go of arrays.
      const py::gil_scoped_release released;
      run = nullptr;
    }
    LetGoOfPrint();
    busy_ = busy;
  }
  // What then runs in Python finds None.
  void LetGoOfPrint() { const py::object last = std::exchange(*print_, py::none()); }
  [[noreturn]] static void Busy() {
    throw StatusError{FailedPrecondition(
        "this run is busy: it trains or tests in another thread, or calls this callback")};
  }

  NamedMetrics Test(const SharedDataset* data, Split split, bool undivided = false) {
    absl::StatusOr<MetricAverages> averages = absl::InternalError("not tested");
    {
      const py::gil_scoped_release released;
      averages =
          data == nullptr ? run_->Evaluate(split) : run_->Evaluate(*data->data, split, undivided);
    }
    DropIfFailed();
    hooks_.Rethrow();
    return Check(std::move(averages)).Values();
  }

  int64_t OutputsPerSample() const { return run_->graph().output_shape().NumElements(); }

  RunHooks hooks_;  // which the run calls, until it ends
  const std::shared_ptr<py::object> print_;
  std::unique_ptr<Run> run_;
  const bool stop_on_signal_;
  std::string name_ = {};           // of its network
  bool stopped_ = false;            // by a signal or a callback, while it trained
  int64_t epochs_ = 0, steps_ = 0;  // of a run that was dropped
};

// Null while it is made.
PythonRun* MadeRun(PyObject* self) {
  const auto holder = reinterpret_cast<py::detail::instance*>(self)->get_value_and_holder();
  return holder.holder_constructed() ? holder.value_ptr<PythonRun>() : nullptr;
}

// A callback, or what logs, may refer to its run, and Python's collector then has to see both.
void FindCycles(PyHeapTypeObject* heap_type) {
  PyTypeObject& type = heap_type->ht_type;
  type.tp_flags |= Py_TPFLAGS_HAVE_GC;
  type.tp_traverse = [](PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    PythonRun* const run = MadeRun(self);
    return run == nullptr ? 0 : run->Visit(visit, arg);
  };
  // Others may collect while a run ends without the GIL.
  type.tp_dealloc = [](PyObject* self) {
    PyObject_GC_UnTrack(self);
    py::detail::pybind11_object_dealloc(self);
  };
  type.tp_clear = [](PyObject* self) {
    if (PythonRun* const run = MadeRun(self)) run->Forget();
    return 0;
  };
}

}  // namespace

void BindRun(py::module_& module) {
  py::class_<PythonRun>(module, "Run", py::custom_type_setup(FindCycles))
      .def(py::init([](const Keywords& keywords, const std::string& model_file,
                       const Layers* network, const SharedDataset* dataset,
                       std::vector<py::function> epoch_begin, std::vector<py::function> batch_end,
                       std::vector<py::function> epoch_end, py::object print, py::object warn,
                       bool stop_on_signal) {
        return std::make_unique<PythonRun>(
            keywords, model_file, network, dataset,
            RunHooks::Functions{std::move(epoch_begin), std::move(batch_end), std::move(epoch_end)},
            std::move(print), std::move(warn), stop_on_signal);
      }))
      .def("fit", &PythonRun::Fit)
      .def("evaluate", &PythonRun::Evaluate)
      .def("predict", &PythonRun::Predict)
      .def("save", &PythonRun::Save)
      .def("parameters", &PythonRun::Parameters)
      .def("set_parameters", &PythonRun::SetParameters)
      .def("history", &PythonRun::History)
      .def("options", &PythonRun::Options)
      .def("stop", &PythonRun::Stop)
      .def("learning_rate", &PythonRun::LearningRate)
      .def("set_learning_rate", &PythonRun::SetLearningRate)
      .def("epochs_done", &PythonRun::Epochs)
      .def("steps_done", &PythonRun::Steps)
      .def("end", &PythonRun::End)
      .def("describe", &PythonRun::Describe)
      .def("__repr__", &PythonRun::Repr)
      .def("dataset", &PythonRun::Data);
}

}  // namespace dtnn::python
