// What a run was asked to do: one plain member per option that this build gives meaning to, with
// its default (README.md lists the flags; option_table.h binds a flag to each member).
//
// A struct rather than process-wide flag variables: a test, a tool or a server can hold several, a
// copy is a snapshot, two compare with ==, and flag names may hold dashes. Words are stored in
// their canonical spelling ("adam", "NHWC"), so code compares them with == or asks the functions
// below.

#ifndef DTNN_APPS_FLAGS_OPTIONS_H_
#define DTNN_APPS_FLAGS_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tensor/dtype.h"
#include "tensor/format.h"

namespace dtnn {

// Where Debian's package dataset-fashion-mnist puts its files.
inline constexpr char kFashionMnistPath[] = "/usr/share/datasets/fashion-mnist";

struct Options {
  // Model and run.
  std::string model;
  std::optional<int64_t> batch_size;         // samples per step and rank; see BatchSizePerRank
  std::optional<int64_t> global_batch_size;  // samples per step over all ranks
  std::string dtype = "float32";
  int64_t num_epochs = 1;
  double steps_per_epoch = 0;  // 0: all samples
  bool evaluate = false;       // before and after training
  bool evaluate_only = false;
  std::string tensor_format = "NHWC";  // or NCHW or AUTO; see FormatOf
  int64_t random_seed = 57005;

  // Data set.
  std::string dataset;
  std::string dataset_path;  // see TrainPath and TestPath
  std::string dataset_train_path;
  std::string dataset_test_path;
  std::string dataset_lang = "en";
  std::string dataset_lang2 = "de";
  int64_t synthetic_train_samples = 1000;
  int64_t synthetic_test_samples = 100;
  std::vector<int64_t> synthetic_input_shape = {3, 32, 32};  // channels, height, width
  std::vector<int64_t> synthetic_output_shape = {10};        // classes
  bool test_as_validation = false;
  double validation_split = 0.2;
  bool augment_shuffle = true;

  // Optimisation and convolution.
  bool enable_memory_cache = true;
  std::string conv_variant = "i2c";

  // Optimizer.
  std::string optimizer = "sgd";
  double learning_rate = 0.01;
  double optimizer_momentum = 0.9;
  double optimizer_decay = 0;
  bool optimizer_nesterov = false;
  double optimizer_beta1 = 0.99;
  double optimizer_beta2 = 0.999;
  double optimizer_epsilon = 1e-7;
  std::string loss_func = "categorical_cross_entropy";
  std::vector<std::string> metrics = {"categorical_accuracy"};

  // Parallel.
  std::string parallel = "sequential";
  bool enable_gpu = false;

  friend bool operator==(const Options&, const Options&) = default;
};

DType ElementTypeOf(const Options& options);
// AUTO is NCHW on a GPU and NHWC elsewhere.
TensorFormat FormatOf(const Options& options);

// Samples of one rank's step: 64 unless a size was given; a global size is shared out evenly, and
// one that does not divide by `ranks` is an error.
absl::StatusOr<int64_t> BatchSizePerRank(const Options& options, int64_t ranks = 1);

// Where the training and the test part are read from. For mnist without any path: Fashion-MNIST as
// Debian installs it.
std::string TrainPath(const Options& options);
std::string TestPath(const Options& options);

}  // namespace dtnn

#endif  // DTNN_APPS_FLAGS_OPTIONS_H_
