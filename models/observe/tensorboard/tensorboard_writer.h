// Writes a run for TensorBoard, after each epoch of a trainer: loss, metrics, learning rate, speed,
// energy, histograms of parameters and of their last gradients, and, once, the network and the
// options.
//
//   auto board = TensorboardWriter::Create({.folder = "board", .options = ...}, *trainer, graph,
//   ...); trainer->Train(training, &validation, epochs, {board->get()});
//
// The folder gets two runs, train and validation, whose curves TensorBoard draws into one chart;
// steps are epochs, from 1. A run that continues writes new files there, and TensorBoard forgets
// what the old ones say of the epochs from there on. Files that cannot be written are one warning,
// and training continues.

#ifndef DTNN_MODELS_OBSERVE_TENSORBOARD_TENSORBOARD_WRITER_H_
#define DTNN_MODELS_OBSERVE_TENSORBOARD_TENSORBOARD_WRITER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "models/graph/graph.h"
#include "models/observe/tensorboard/event_file.h"
#include "models/parameters/parameter_store.h"
#include "models/training/callback.h"
#include "models/training/pass_speed.h"
#include "models/training/trainer.h"

namespace dtnn {

using Hyperparameter = std::variant<bool, double, std::string>;

struct TensorboardOptions {
  std::string folder = {};
  std::vector<std::pair<std::string, Hyperparameter>> hyperparameters = {};
  std::string text = {};  // Markdown that describes the run
  bool validates = false;
  // Joules of the epoch that has just ended; none, or nothing: not known.
  std::function<std::optional<double>()> joules = {};
  std::function<void(std::string_view line)> warn = {};
};

// Whether the files can be written.
absl::Status CheckTensorboardFolder(std::string_view folder);

class TensorboardWriter : public Callback {
 public:
  // Makes the files, for epochs after those that the trainer has done. All must outlive the writer.
  static absl::StatusOr<std::unique_ptr<TensorboardWriter>> Create(TensorboardOptions options,
                                                                   const Trainer& trainer,
                                                                   const Graph& graph,
                                                                   const ParameterStore& store,
                                                                   DeviceContext& context);

  absl::Status OnPassBegin(const Pass& pass) override;
  absl::Status OnBatchEnd(const Pass& pass) override;
  absl::Status OnPassEnd(const Pass& pass) override;
  absl::Status OnEpochEnd(const Pass& training, const Pass* validation) override;
  // Results on the test data, named with "test_", after the last epoch: in the run of the training.
  absl::Status AddTest(const NamedMetrics& metrics);

 private:
  TensorboardWriter(TensorboardOptions options, const Trainer& trainer, const Graph& graph,
                    const ParameterStore& store, DeviceContext& context)
      : options_(std::move(options)),
        trainer_(trainer),
        graph_(graph),
        store_(store),
        context_(context) {}

  absl::Status Open();
  absl::Status WriteRun();
  absl::Status WriteEpoch(const Pass& training, const Pass* validation);
  absl::Status Warn(std::string_view what, const absl::Status& status);
  absl::Status AddHistograms(tensorboard::Summary& summary);
  absl::Status AddHistogram(std::string_view tag, const Tensor& values,
                            tensorboard::Summary& summary);

  const TensorboardOptions options_;
  const Trainer& trainer_;
  const Graph& graph_;
  const ParameterStore& store_;
  DeviceContext& context_;
  std::unique_ptr<EventFile> training_, validation_;
  PassSpeed speed_;              // of the training
  tensorboard::Summary images_;  // of the first validation, until its epoch ends
  bool has_images_ = false;
  bool warned_ = false;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_TENSORBOARD_TENSORBOARD_WRITER_H_
