// A run with checkpoints, history, page and early stopping: the program of docs/library.md. Stop it
// with Ctrl-C and start it again: it continues.
//
//   bazel run //examples/library:run [-- FOLDER [EPOCHS]]    (installed: CMakeLists.txt builds it)

#include "models/run/run.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "data/loading/open_dataset.h"
#include "tensor/must.h"

using namespace dtnn;  // NOLINT: brevity is the point of this page

// [run]
// Prints the accuracy of every epoch.
class PrintAccuracy : public Callback {
  absl::Status OnEpochEnd(const Pass& training, const Pass* validation) override {
    const double accuracy = (*validation->averages)["categorical_accuracy"];
    std::printf("epoch %d: %.1f %%\n", int(training.epoch) + 1, accuracy);
    return absl::OkStatus();
  }
};

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "my-run";
  const int64_t epochs = argc > 2 ? std::atoll(argv[2]) : 20;
  std::error_code none;  // a folder that cannot be made is an error of the run, which names it
  std::filesystem::create_directories(folder, none);

  std::shared_ptr<const Dataset> data = Must(OpenDataset(
      "synthetic", {.synthetic = {.train_samples = 400, .pattern = SyntheticPattern::kClasses}}));
  Network net("mine");
  net.Input(*data).Conv2d(8, {.padding = 1}).Relu().Flatten().Fc(data->outputs()).Softmax();

  const RunOptions options = {
      .training = {.epochs = epochs, .evaluate = true},
      .data = {.validation_split = 0.2},
      .optimizer = {.name = "adam", .learning_rate = 1e-3, .beta1 = 0.9},
      .schedule = {.schedulers = {"early_stopping"}, .early_stopping = {.patience = 3}},
      .checkpoint = {.folder = folder + "/checkpoints", .resume = Resume::kIfThere},
      .output = {.model = folder + "/mine.safetensors",
                 .history = folder + "/history.csv",
                 .report = folder + "/run.html"}};
  PrintAccuracy print;
  auto run = Must(Run::Create(
      options, {.network = net, .dataset = data, .callbacks = {&print}, .stop_on_signal = true}));
  Must(run->Fit());
  std::printf("test accuracy %.1f %%\n", Must(run->Evaluate())["categorical_accuracy"]);
}
// [/run]
