// Everything that one run can be asked to do: plain data, so that a copy is a snapshot, two compare
// with ==, and a program can keep several. Words are the names that the libraries use ("adam",
// "NHWC", "bf16"). A member that is std::optional and not set, or a text that is empty, follows
// other members, a model file or the data (in_force.h).
//
//   RunOptions options = {.network = {.name = "resnet20"},
//                         .training = {.batch = 128, .epochs = 10},
//                         .data = {.name = "cifar10", .path = folder},
//                         .optimizer = {.name = "adamw", .learning_rate = 1e-3}};

#ifndef DTNN_MODELS_RUN_OPTIONS_RUN_OPTIONS_H_
#define DTNN_MODELS_RUN_OPTIONS_RUN_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "models/run/options/data_options.h"
#include "models/run/options/device_options.h"
#include "models/run/options/network_options.h"
#include "models/run/options/optimizer_options.h"
#include "models/run/options/output_options.h"
#include "models/run/options/rank_options.h"
#include "models/run/options/scheduler_options.h"
#include "models/run/options/training_options.h"
#include "tensor/dtype.h"
#include "tensor/format.h"

namespace dtnn {

struct RunOptions {
  NetworkOptions network = {};
  TrainingOptions training = {};
  DataOptions data = {};
  OptimizerOptions optimizer = {};
  SchedulerOptions schedule = {};
  DeviceOptions device = {};
  ConvolutionOptions convolution = {};
  RankOptions ranks = {};
  SyncOptions sync = {};
  FederationOptions federation = {};
  EncryptionOptions encryption = {};
  CheckpointOptions checkpoint = {};
  OutputOptions output = {};
  PredictionOptions prediction = {};
  bool force = false;  // although memory does not suffice

  friend bool operator==(const RunOptions&, const RunOptions&) = default;
};

// The options that are paths of files and folders.
std::vector<std::string*> PathsOf(RunOptions& options);

DType ElementTypeOf(const RunOptions& options);
// AUTO is the format that the device computes fastest with (kernels/device/fastest_format.h).
TensorFormat FormatOf(const RunOptions& options);

// Samples of one rank's step: 64 unless a size was given; a global size is shared out evenly, and
// one that does not divide by `ranks` is an error.
absl::StatusOr<int64_t> BatchSizePerRank(const RunOptions& options, int64_t ranks = 1);

// sync.bucket_mb in bytes; 0: auto, the size is measured.
absl::StatusOr<int64_t> BucketBytes(const RunOptions& options);

// data.part: the part-th, from 1, of so many equal parts of the training samples.
struct DatasetPart {
  int64_t part = 1, parts = 1;
};
absl::StatusOr<DatasetPart> DatasetPartOf(const RunOptions& options);

// Whether training.class_weights names a file of them: it ends in .txt.
bool HasClassWeightsFile(const RunOptions& options);
// training.class_weights where it is a list; empty for "balanced", for a file and without it.
absl::StatusOr<std::vector<double>> ClassWeightsOf(const RunOptions& options);

// The rate that training begins with, before any scheduler.
double InitialLearningRate(const RunOptions& options, int64_t ranks);

// Where the training and the test split are read from. For mnist without any path: Fashion-MNIST as
// Debian installs it.
std::string TrainPath(const RunOptions& options);
std::string TestPath(const RunOptions& options);
// Whether the run continues from a checkpoint, where there is one.
bool Resumes(const RunOptions& options);
// Whether the run reads the part at all.
bool ReadsTraining(const RunOptions& options);
bool ReadsTest(const RunOptions& options);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OPTIONS_RUN_OPTIONS_H_
