// What the words mean that the launcher's options take: a line "word: meaning" each, as
// OptionSpec::meanings holds them and --help=NAME prints them.

#ifndef DTNN_APPS_FLAGS_WORD_MEANINGS_H_
#define DTNN_APPS_FLAGS_WORD_MEANINGS_H_

#include <string_view>

namespace dtnn::meanings {

inline constexpr std::string_view kDtype =
    "float32: 4 bytes per number\n"
    "float64: 8 bytes per number; slower, for checks\n";

inline constexpr std::string_view kWeightsFormat =
    "auto: as the file or the shapes in it say\n"
    "NHWC: channels last\n"
    "NCHW: channels first\n";

inline constexpr std::string_view kProgress =
    "auto: bar on a terminal, line elsewhere\n"
    "bar: a bar that is drawn again and again, with the time that is left\n"
    "line: a line after each epoch\n"
    "none: no lines of epochs; results of tests are printed\n";

inline constexpr std::string_view kLogFormat =
    "text: lines for people\n"
    "json: an object of JSON per line, with time, severity and rank, for programs that collect "
    "logs\n";

inline constexpr std::string_view kTensorFormat =
    "AUTO: the fastest: NCHW on a GPU with --math-mode=fp32, NHWC otherwise\n"
    "NHWC: channels last\n"
    "NCHW: channels first\n";

inline constexpr std::string_view kModelSyncAlg =
    "avg: all ranks count equally\n"
    "wavg: the more samples a rank has, the more it counts\n"
    "invwavg: the more samples a rank has, the less it counts\n";

inline constexpr std::string_view kModelSyncParticipation =
    "all: all ranks\n"
    "avail2all: only ranks that still have data in this epoch; all ranks get the result\n";

inline constexpr std::string_view kDataset =
    "mnist: MNIST or Fashion-MNIST, 28x28 grey images, 10 classes\n"
    "cifar10: CIFAR-10, 32x32 colour images, 10 classes\n"
    "imagenet: ImageNet, 1000 classes, as archives or as preprocessed .npz files\n"
    "chestxray: NIH ChestX-ray, 1024x1024 grey images, 15 labels that may occur together\n"
    "cyclone: cyclones, 40x40 images of 5 channels, 2 classes\n"
    "tsunamis: tsunamis, 80x80 images, one value to predict\n"
    "archive: your own arrays in one .npz file: x_train, y_train, x_test, y_test\n"
    "folder: your own JPEG and PNG files, a folder per class in train/ and test/\n"
    "masks: your own images, and masks with the class of each pixel, in images/ and masks/ of "
    "train/ and test/\n"
    "synthetic: generated samples, no files: for timing and for trying things\n";

inline constexpr std::string_view kArchiveFormat =
    "auto: as the shape of the images says\n"
    "NCHW: channels before height and width\n"
    "NHWC: channels after height and width\n";

inline constexpr std::string_view kSyntheticPattern =
    "zeros: all zeros with label 0, to measure speed\n"
    "classes: a random image per class plus noise, which a network can learn\n";

inline constexpr std::string_view kConvVariant =
    "auto: for each layer and direction, the algorithm that is expected to be fastest\n"
#define DTNN_CONV_VARIANT(name, variant, meaning) name ": " meaning "\n"
#include "kernels/conv/variants.inc"
#undef DTNN_CONV_VARIANT
    ;

// The names that begin with convdirect_ are PyDTNN's: an algorithm, an order of axes, and a
// register tile, which is chosen by the instruction set here.
inline constexpr std::string_view kDirectMethod =
    "planar: vectors of pixels of zero-padded planes, for few channels; also if nothing is named\n"
    "convdirect_original_nhwc_default: loops over the images; here planar\n"
    "convdirect_im2row_nhwc_default: im2row and a matrix product; here --conv-variant=i2c\n"
    "convdirect_conv_gemm_nhwc_default: a matrix product that packs patches as it reads them; here "
    "--conv-variant=gemm\n"
    "convdirect_block_blis_nhwc_blis: blocks of pixels times filters straight from the images; "
    "here "
    "--conv-variant=gemm\n"
    "convdirect_block_blis_nhwc_8x12: the same; here --conv-variant=gemm\n"
    "convdirect_block_blis_nhwc_4x20: the same; here --conv-variant=gemm\n"
    "convdirect_block_shalom_nhwc_7x12_npa_u4: the same; here --conv-variant=gemm\n"
    "convdirect_tzemeng_nhwc_7x12_u4: the same; here --conv-variant=gemm\n";

inline constexpr std::string_view kResume =
    "False: start a new run; a folder with checkpoints is refused\n"
    "True: continue; a folder without checkpoints is refused\n"
    "if-there: continue, or start a new run if the folder has no checkpoint\n";

inline constexpr std::string_view kVerbose =
    "False: what a run usually prints\n"
    "True: also every parameter, the table of layers, memory, and the algorithm of each "
    "convolution\n"
    "dispatch: that, and what else could compute each convolution, and what could not and why "
    "not\n";

inline constexpr std::string_view kOptimizer =
    "sgd: gradient descent with momentum (--optimizer-momentum)\n"
    "rmsprop: steps divided by a running root mean square of the gradient\n"
    "adam: running means of the gradient and of its square; its beta1 is 0.99 here, where the "
    "usual "
    "0.9 often learns better (--optimizer-beta1=0.9)\n"
    "nadam: adam with Nesterov's momentum, and the same constants\n"
    "adamw: adam with decoupled weight decay, in the form and with the constants that its authors "
    "published: beta1 0.9, epsilon 1e-8, weight decay 0.01\n"
    "oktopk: sgd with what is largest in the gradients of all ranks (--optimizer-density); the "
    "rest "
    "is kept for later steps\n";

inline constexpr std::string_view kLearningRateScaling =
    "False: as given\n"
    "True: divide by the number of ranks\n"
    "divide: divide by the number of ranks\n"
    "multiply: multiply by the number of ranks\n";

#define DTNN_LOSS_MEANINGS                                                             \
  "categorical_cross_entropy: one class per sample\n"                                  \
  "binary_cross_entropy: labels that are not mutually exclusive, each true or false\n" \
  "mse: values to predict: mean squared error\n"                                       \
  "mae: values to predict: mean absolute error\n"
#define DTNN_METRIC_MEANINGS                                                                 \
  "categorical_accuracy: percentage of samples whose largest prediction is their class\n"    \
  "top5_accuracy: percentage of samples whose class is among the five largest predictions\n" \
  "categorical_hinge: mean hinge loss between the class and the best other class\n"          \
  "categorical_mse: mean of (1 - p)^2, p the predicted probability of the class\n"           \
  "categorical_mae: mean of |1 - p|, p the predicted probability of the class\n"             \
  "regression_mse: mean squared error over all outputs\n"                                    \
  "regression_mae: mean absolute error over all outputs\n"                                   \
  "binary_accuracy: percentage of labels that are predicted right, each by itself\n"         \
  "binary_confusion_matrix: true and false positives and negatives of every label\n"         \
  "multiclass_confusion_matrix: how often each class was predicted as each other\n"          \
  "precision: TP / (TP + FP), averaged over the labels that are true or predicted\n"         \
  "recall: TP / (TP + FN), averaged over the labels that are true or predicted\n"            \
  "f1_score: harmonic mean of precision and recall, averaged over these labels\n"            \
  "mean_iou: mean intersection over union of the classes of pixels\n"                        \
  "per_class_report: table of precision, recall and F1 score of every class\n"
inline constexpr std::string_view kMetrics = DTNN_METRIC_MEANINGS;
inline constexpr std::string_view kLosses = DTNN_LOSS_MEANINGS;
inline constexpr std::string_view kLossesAndMetrics = DTNN_LOSS_MEANINGS DTNN_METRIC_MEANINGS;
#undef DTNN_LOSS_MEANINGS
#undef DTNN_METRIC_MEANINGS

inline constexpr std::string_view kSchedulers =
    "warm_up: the rate rises linearly to its full value at the start of the run\n"
    "early_stopping: ends the run when a metric has stopped improving, and restores the best "
    "parameters\n"
    "reduce_lr_on_plateau: multiplies the rate by a factor when a metric has stopped improving\n"
    "reduce_lr_every_nepochs: multiplies the rate by a factor every n epochs\n"
    "model_checkpoint: saves the best parameters in --model-dir; without that folder only if "
    "--schedulers names it, in the current folder\n"
    "stop_at_loss: ends the run when a metric passes a threshold\n"
    "cosine: the rate falls along half a cosine over the whole run, or over each of its cycles\n"
    "polynomial: the rate falls with a power of what is left of the run\n"
    "one_cycle: the rate rises over the first 30 % of the run, then falls close to 0\n";

inline constexpr std::string_view kParallel =
    "sequential: one process trains alone\n"
    "data: all processes of mpirun or launch train one model, each on its share of every step's "
    "samples\n"
    "federated: a client of an aggregator (--server) trains on its own data, and sends what "
    "becomes of the model\n";

inline constexpr std::string_view kTransport =
    "auto: as the environment variable PYMPI_PROTO says; mpi if it is not set\n"
    "mpi: Open MPI, for processes that mpirun started\n"
    "tcp: connections of the ranks' own, for processes that launch or anything else started\n"
    "grpc: the same, through a gRPC server of rank 0\n"
    "mqtt: the same, through an MQTT broker\n";

inline constexpr std::string_view kUseMpiBuffers =
    "False: gather the gradients of all ranks and add them in the order of ranks\n"
    "True: let MPI add them while it transfers them\n";

inline constexpr std::string_view kGpuDevice =
    "cuda: the first of NVIDIA's GPUs; needs a build with --config=cuda\n"
    "simulated: threads of this machine that keep the rules of a GPU, slowly; to test without "
    "one\n";

inline constexpr std::string_view kGradientCompression =
    "none: as they are\n"
    "fp16: half the bytes, 11 significant bits; a gradient above 255 ends the run\n"
    "bf16: half the bytes, 8 significant bits, as large as float32\n";

inline constexpr std::string_view kMathMode =
    "fp32: in the type of --dtype, exactly\n"
    "tf32: float32, but products and convolutions round their operands to 11 significant bits\n"
    "bf16: activations and copies of the weights are bfloat16 (8 bits); sums, normalisation, loss, "
    "parameters and their updates float32\n"
    "fp16: the same with float16 (11 bits, up to 65504), and a scale that keeps gradients in its "
    "range\n";

inline constexpr std::string_view kCommBucket =
    "auto: chosen by timing the first steps\nN: size in MiB, > 0\n";

inline constexpr std::string_view kEncryption =
    "masked: masks that cancel in the sum; clients may drop out\n"
    "tenseal: CKKS with one key that clients share; the aggregator cannot read sums either. The "
    "only one with --parallel=data, where ranks share the key\n"
    "openfhe: CKKS with threshold keys, which no client has alone; all clients of a round must "
    "stay to its end\n";

inline constexpr std::string_view kSecurityLevel =
    "0: not enforced\n"
    "128: 128 bits\n"
    "192: 192 bits\n"
    "256: 256 bits\n";

inline constexpr std::string_view kNetworkAlg =
    "vdg: van de Geijn's: reduce-scatter, then all-gather\n"
    "bta: binomial tree\n";

}  // namespace dtnn::meanings

#endif  // DTNN_APPS_FLAGS_WORD_MEANINGS_H_
