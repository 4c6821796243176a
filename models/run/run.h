// A run: from data and a network, or their names, to a trained, tested and saved model. For
// programs of a few lines as for launchers, which say more in the options: checkpoints, history,
// page, GPUs.
//
//   auto data = Must(OpenDataset("mnist", {.path = folder}));
//   Network net = Network("mine").Input(*data).Conv2d(8).Relu().Flatten().Fc(10).Softmax();
//   const RunOptions options = {.training = {.epochs = 5},
//                               .optimizer = {.name = "adam", .learning_rate = 1e-3,
//                                             .beta1 = 0.9}};
//   auto run = Must(Run::Create(options, {.network = net, .dataset = data}));
//   Must(run->Fit());
//   double accuracy = Must(run->Evaluate())["categorical_accuracy"];
//   Must(run->Save("mine.safetensors"));  // for Predictor::Load
//
// Errors name members as RunOptions::training.epochs. What goes wrong in training or a test ends
// the run. One thread at a time.
//
// On several ranks each creates it with its own communicator and the same options, and all call the
// same functions together. Rank 0 speaks for all; only of checkpoints of its own each rank warns
// itself. What is wrong on any of them before the work starts is an error on all, with the same
// exit code (comm/ranks/job/exit_code.h). Where a rank is lost later, the lowest one left writes a
// checkpoint of the last whole step (with RunOptions::checkpoint.folder), the others wait for it,
// and all end with the communicator's error. Ranks that come and go: elastic_run.h.

#ifndef DTNN_MODELS_RUN_RUN_H_
#define DTNN_MODELS_RUN_RUN_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "kernels/device/context.h"
#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"
#include "models/run/objects/run_objects.h"
#include "models/run/options/run_options.h"
#include "models/run/prepare/run_needs.h"
#include "models/training/step/metric_averages.h"
#include "models/training/trainer.h"

namespace dtnn {

class RunWork;

class Run {
 public:
  // Everything that can be wrong shows here: names, files, sizes, memory.
  static absl::StatusOr<std::unique_ptr<Run>> Create(const RunOptions& options,
                                                     RunObjects objects = {});
  // Options of a run that continues with the model in a file: with its network, parameters and
  // preprocessing, and the loss, the optimizer and the learning rate that it was trained with. The
  // constants are those of that optimizer: begin with a new OptimizerOptions to name another one.
  static absl::StatusOr<RunOptions> OptionsOfModel(const std::string& path);
  // What the run would need, on each of so many ranks (0: a process alone), without reading data or
  // taking memory (run_needs.h): `Describe` prints it.
  static absl::StatusOr<RunNeeds> Needs(const RunOptions& options, const RunObjects& objects = {},
                                        int ranks = 0);
  ~Run();  // End, of this rank alone

  // Trains what is left of RunOptions::training.epochs, and writes RunOptions::output.model: after
  // Trainer::Stop by a callback it continues there, but not after a scheduler has ended the run.
  // OutOfRange where it diverged. Cancelled where a signal or a callback ended it: the run does not
  // train again and leaves its folder of checkpoints to others, but where it has one rank it can
  // still be tested and saved, until End.
  absl::Status Fit();
  // Trains so many epochs from where the run is, with schedules that begin anew. A run with
  // checkpoints is instead resumed with more of RunOptions::training.epochs.
  absl::Status Fit(int64_t epochs);
  // Loss and metrics of a split of the run's data; accuracies are in per cent. Those of the test
  // after training are also written into the history, the page and RunOptions::output.model.
  // Cancelled, and the run continues, where a callback stopped the test: nothing of it is kept.
  absl::StatusOr<MetricAverages> Evaluate(Split split = Split::kTest);
  // The same of other data, which the network is shown as those of training. InvalidArgument, and
  // the run continues, for data that do not fit it, such as classes where the run has values.
  // `undivided`: for predictions: each rank tests all samples, so that its callbacks see them all.
  absl::StatusOr<MetricAverages> Evaluate(const Dataset& data, Split split = Split::kTest,
                                          bool undivided = false);
  // Writes one file with network, parameters, preprocessing, class names and how it was trained
  // (models/serving/saved_model.h). Rank 0 writes; without shared storage each rank does.
  absl::Status Save(const std::string& path) const;

  // Or all at once that the options ask for: tests, training, the saved model; then End. Instead of
  // Fit: FailedPrecondition after it.
  absl::Status Execute();
  // The page says that the run is over, and the trace of all ranks is written: all call it
  // together. Nothing can be done with the run after it.
  void End();
  bool ended() const;  // by End, Execute or an error

  const RunOptions& options() const;  // as they are in force
  const Graph& graph() const;
  const Dataset& dataset() const;
  std::shared_ptr<const Dataset> shared_dataset() const;  // which may outlive the run
  ParameterStore& store();
  // What computes: a device may have work of the run queued, and copies of parameters that another
  // context makes do not wait for it.
  DeviceContext& context();
  Trainer& trainer();
  // The last epoch's: "categorical_accuracy", "val_categorical_accuracy", ...
  const NamedMetrics& last_metrics() const;

 private:
  explicit Run(std::unique_ptr<RunWork> work);
  absl::Status CheckOpen() const;
  absl::Status CheckHolds() const;
  absl::Status CheckTrains() const;
  absl::Status Train();
  absl::StatusOr<MetricAverages> EvaluateOn(std::shared_ptr<const Dataset> data, Split split,
                                            bool undivided, bool after_training);

  const std::unique_ptr<RunWork> work_;
  const int64_t epochs_;  // as given to Create; Fit(n) plans others
  bool fitted_ = false, cancelled_ = false;
  bool whole_ = false;  // by Fit(), up to the last epoch or where a scheduler ended it
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_RUN_H_
