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
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "data/datasets/mnist.h"
#include "tensor/dtype.h"
#include "tensor/format.h"

namespace dtnn {

// Names of the options that the user set, as the table of options spells them. An option that is
// given counts even where its value is the default; others may follow the data or a model file.
using GivenOptions = std::set<std::string_view>;

struct Options {
  GivenOptions given;

  // Model and run.
  std::string model;
  std::optional<int64_t> batch_size;         // samples per step and rank; see BatchSizePerRank
  std::optional<int64_t> global_batch_size;  // samples per step over all ranks
  std::string dtype = "float32";
  int64_t num_epochs = 1;
  double steps_per_epoch = 0;  // 0: all samples
  bool evaluate = false;       // before and after training
  bool evaluate_only = false;
  std::string weights_and_bias_filename;  // to start from
  std::string weights_format = "auto";    // layout of a file of weights without a tag
  bool weights_partial = false;           // take from it what fits
  std::string freeze;                     // patterns of layers that do not train (graph/freeze.h)
  std::string save_model;                 // file for the model after training; empty: none
  std::string history_file;
  std::string checkpoint_dir;          // where the state of the run is saved; empty: nowhere
  int64_t checkpoint_freq = 1;         // epochs
  int64_t checkpoint_steps = 0;        // batches; 0: at ends of epochs only
  std::string resume = "False";        // True or if-there: continue from the newest checkpoint
  std::string tensor_format = "AUTO";  // or NHWC or NCHW; see FormatOf
  int64_t random_seed = 57005;

  // Synchronisation of ranks.
  bool shared_storage = true;  // else every rank has data of its own and writes files of its own
  int64_t model_sync_freq = 0;
  std::string model_sync_alg = "avg";
  std::string model_sync_participation = "all";
  int64_t model_sync_min_avail = 0;
  bool initial_model_sync = true;
  bool final_model_sync = true;
  bool sync_batch_norm = false;

  // Data set.
  std::string dataset;
  std::string dataset_path;  // see TrainPath and TestPath
  std::string dataset_train_path;
  std::string dataset_test_path;
  bool skip_damaged_images = false;
  std::string archive_format = "auto";  // of an archive's images: or NCHW or NHWC
  std::string dataset_lang = "en";
  std::string dataset_lang2 = "de";
  int64_t synthetic_train_samples = 1000;
  int64_t synthetic_test_samples = 100;
  std::vector<int64_t> synthetic_input_shape = {3, 32, 32};  // channels, height, width
  std::vector<int64_t> synthetic_output_shape = {10};        // classes
  std::string synthetic_pattern = "zeros";
  double dataset_percentage = 0;
  std::string dataset_part;  // K/N, see DatasetPartOf; empty: all training samples
  bool test_as_validation = false;
  double validation_split = 0.2;
  bool augment_shuffle = true;
  std::string augment;  // list of transforms (transform_list.h)
  double mixup = 0;     // alpha; 0: off
  bool augment_flip = false;
  double augment_flip_prob = 0.5;
  bool augment_crop = false;
  int64_t augment_crop_size = 16;
  double augment_crop_prob = 0.5;
  bool transform_crop = false;
  double transform_crop_perc = 0.875;
  bool transform_resize = false;
  int64_t transform_resize_size = 300;
  bool normalize = false;
  std::vector<double> normalize_offset = {-0.45};  // one, or one per channel
  std::vector<double> normalize_scale = {3.75};    // likewise
  bool standardize = false;
  bool use_synthetic_data = false;
  int64_t loader_threads = 0;  // 0: as the data set needs

  // Optimisation and convolution.
  bool enable_memory_cache = true;
  bool enable_fused_bn_relu = true;
  bool enable_fused_conv_relu = true;
  bool enable_fused_conv_bn = true;
  bool enable_fused_conv_bn_relu = true;
  std::string conv_variant = "auto";
  std::string conv_direct_method;
  bool enable_best_of = false;
  std::vector<std::string> conv_direct_methods_for_best_of;
  std::string best_of_file;

  // Optimizer.
  std::string optimizer = "sgd";
  double learning_rate = 0.01;
  std::string learning_rate_scaling = "False";  // by the number of ranks; see InitialLearningRate
  double optimizer_momentum = 0.9;
  double optimizer_decay = 0;
  bool optimizer_decay_all = true;  // biases and batch normalisations too
  bool optimizer_nesterov = false;
  double optimizer_beta1 = 0.99;
  double optimizer_beta2 = 0.999;
  double optimizer_epsilon = 1e-7;
  double optimizer_rho = 0.9;
  int64_t optimizer_tau = 64;        // steps of oktopk from one set of regions to the next
  int64_t optimizer_tau_prime = 32;  // and from one exact threshold to the next
  double optimizer_density = 0.01;   // share of the gradients that it sends
  double clip_norm = 0;              // 0: gradients are not clipped
  int64_t accumulate_steps = 1;      // batches per update
  double label_smoothing = 0;
  std::string class_weights;  // "balanced", or a list; empty: all 1
  std::string loss_func = "categorical_cross_entropy";
  std::vector<std::string> metrics = {"categorical_accuracy"};

  // Schedulers.
  std::vector<std::string> schedulers = {"early_stopping", "reduce_lr_on_plateau",
                                         "model_checkpoint"};
  std::string model_dir;  // where model_checkpoint writes; empty: nowhere
  std::optional<int64_t> warm_up_batches;
  int64_t warm_up_epochs = 5;
  std::string early_stopping_metric = "val_categorical_cross_entropy";
  int64_t early_stopping_patience = 10;
  bool early_stopping_minimize = true;
  std::string reduce_lr_on_plateau_metric = "val_categorical_cross_entropy";
  double reduce_lr_on_plateau_factor = 0.1;
  int64_t reduce_lr_on_plateau_patience = 5;
  double reduce_lr_on_plateau_min_lr = 0;
  double reduce_lr_every_nepochs_factor = 0.1;
  int64_t reduce_lr_every_nepochs_nepochs = 5;
  double reduce_lr_every_nepochs_min_lr = 0;
  std::string stop_at_loss_metric = "val_categorical_accuracy";
  double stop_at_loss_threshold = 0;
  std::string model_checkpoint_metric = "val_categorical_cross_entropy";
  int64_t model_checkpoint_save_freq = 2;
  double cosine_min_lr = 0;

  // Parallel.
  std::string parallel = "sequential";     // or data or federated
  std::string server = "127.0.0.1:61643";  // HOST:PORT of the aggregator
  std::string client_name;                 // in the federation; empty: made from the host's name
  std::string transport = "auto";          // or mpi or tcp, as the launcher has settled it
  std::string rendezvous;                  // HOST:PORT; empty: the environment's
  std::string elastic;                     // MIN:MAX ranks; empty: those of the start
  bool use_blocking_mpi = true;  // gradients are reduced after the backward pass, not during it
  std::string use_mpi_buffers;   // True or False; empty: True
  std::string gradient_compression = "none";  // or fp16 or bf16
  std::string comm_bucket_mb = "auto";        // 2^20 bytes; see BucketBytes
  double comm_timeout = 300;                  // seconds
  bool enable_gpu = false;
  std::string gpu_device = "cuda";  // or simulated
  std::string math_mode = "fp32";   // a name of kMathModes
  bool enable_gpudirect = false;
  bool enable_nccl = false;
  bool enable_cuda_graphs = true;
  bool enable_cudnn_auto_conv_alg = false;
  std::string cudnn_plans;  // folder; empty: plans are made in every run

  // Encryption of what clients send: masked, tenseal or openfhe; empty: none.
  std::string encryption;
  int64_t encryption_poly_degree = 13;
  int64_t encryption_global_scale = 40;  // of openfhe 61, unless it is given
  std::string encryption_security_level = "128";
  std::string encryption_key_file;  // that clients share, with tenseal
  bool plain_metrics = false;       // tenseal: the aggregator reads the clients' metrics
  double least_clients = 1.5;       // of equal weight, that hide a client's update in a sum
  double dp_clip = 0;               // longest update of a client; 0: no differential privacy
  double dp_noise = 0;              // deviation, times that
  double dp_delta = 1e-5;           // for which epsilons are told

  // What the machine and the network can do, for predictions.
  double cpu_speed = 0, memory_bw = 0;  // operations, and bytes copied, per second; 0: as measured
  double network_bw = 1e9;              // bytes per second
  double network_lat = 0.5e-6;          // seconds
  std::string network_alg = "vdg";

  // Output.
  bool dry_run = false;
  bool force = false;  // although memory does not suffice
  bool quiet = false;
  std::string verbose = "False";
  std::string progress = "auto";  // or bar, line or none
  bool tracing = false;
  std::string tracer_output;      // file of the trace, which says its format; empty: no trace
  std::string profile = "False";  // True: printed; a file: written there
  std::string report;             // page of the run; empty: none
  std::string tensorboard_dir;    // folder of event files; empty: none
  bool energy = false;            // is measured, where the machine has counters
  std::string tracer_pmlib_server = "127.0.0.1";
  int64_t tracer_pmlib_port = 6526;
  std::string tracer_pmlib_device;  // whose power the server tells; empty: counters of the machine

  friend bool operator==(const Options&, const Options&) = default;
};

DType ElementTypeOf(const Options& options);
// AUTO is the format that the device computes fastest with (kernels/fastest_format.h).
TensorFormat FormatOf(const Options& options);

// Samples of one rank's step: 64 unless a size was given; a global size is shared out evenly, and
// one that does not divide by `ranks` is an error.
absl::StatusOr<int64_t> BatchSizePerRank(const Options& options, int64_t ranks = 1);

// Of --comm-bucket-mb; 0: auto, the size is measured.
absl::StatusOr<int64_t> BucketBytes(const Options& options);

// Of --dataset-part: the part-th, from 1, of so many equal parts of the training samples.
struct DatasetPart {
  int64_t part = 1, parts = 1;
};
absl::StatusOr<DatasetPart> DatasetPartOf(const Options& options);

// --class-weights where it is a list; empty for "balanced" and without it.
absl::StatusOr<std::vector<double>> ClassWeightsOf(const Options& options);

// The rate that training begins with, before any scheduler.
double InitialLearningRate(const Options& options, int64_t ranks);

// Where the training and the test split are read from. For mnist without any path: Fashion-MNIST as
// Debian installs it.
std::string TrainPath(const Options& options);
std::string TestPath(const Options& options);
// Whether the run continues from a checkpoint, where there is one.
bool Resumes(const Options& options);
// Whether the run reads the part at all.
bool ReadsTraining(const Options& options);
bool ReadsTest(const Options& options);

}  // namespace dtnn

#endif  // DTNN_APPS_FLAGS_OPTIONS_H_
