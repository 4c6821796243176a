// The part of option_table.h that is about names of earlier releases and of other programs.

#include <algorithm>
#include <iterator>

#include "apps/flags/option_table.h"

namespace dtnn {
namespace {

using enum AliasKind;

constexpr OptionAlias kAliases[] = {
    {"flip-images", "augment-flip"},
    {"flip-images-prob", "augment-flip-prob"},
    {"crop-images", "augment-crop"},
    {"crop-images-size", "augment-crop-size"},
    {"crop-images-prob", "augment-crop-prob"},
    {"lr-schedulers", "schedulers"},
    {"momentum", "optimizer-momentum"},
    {"decay", "optimizer-decay"},
    {"nesterov", "optimizer-nesterov"},
    {"beta1", "optimizer-beta1"},
    {"beta2", "optimizer-beta2"},
    {"epsilon", "optimizer-epsilon"},
    {"rho", "optimizer-rho"},
    {"decay-rate", "optimizer-rho"},
    {"non-blocking-mpi", "use-blocking-mpi", kInvert},
    {"blocking-mpi", "use-blocking-mpi"},
    {"enable-conv-gemm", "conv-variant", kWhenTrue, "gemm"},
    {"enable-conv-winograd", "conv-variant", kWhenTrue, "winograd"},
    {"enable-conv-i2c", "conv-variant", kWhenTrue, "i2c"},
    {"enable-conv-direct", "conv-variant", kWhenTrue, "direct"},
    {"model-sync-algo", "model-sync-alg"},
    {"model-state-filename", "weights-and-bias-filename"},
    {"parallel-data", "parallel", kWhenTrue, "data"},
};

constexpr WordAlias kWordAliases[] = {{"accuracy", "categorical_accuracy"}};

// The losses of PyTorch and Keras. That of classes there is cross_entropy, which is nearer to the
// other one here.
constexpr OtherName kOtherWords[] = {
    {"bce", "binary_cross_entropy"},
    {"binary_crossentropy", "binary_cross_entropy"},
    {"categorical_crossentropy", "categorical_cross_entropy"},
    {"cross_entropy", "categorical_cross_entropy"},
    {"crossentropy", "categorical_cross_entropy"},
    {"l1", "mae"},
    {"l2", "mse"},
    {"mean_absolute_error", "mae"},
    {"mean_squared_error", "mse"},
    {"nll", "categorical_cross_entropy"},
    {"sparse_categorical_crossentropy", "categorical_cross_entropy"},
};

constexpr ComputedValue kComputedValues[] = {
    {"mpi-processes", "it is the number of processes that mpirun or launch starts"},
    {"threads-per-process", "set the environment variable OMP_NUM_THREADS"},
    {"gpus-per-node", "it is the number of GPUs found"},
    {"mpi-protocol", "use --transport, or set the environment variable PYMPI_PROTO"},
    {"mpi-server", "use --rendezvous, or set the environment variable PYMPI_ADDR"},
    {"mpi-port", "use --rendezvous, or set the environment variable PYMPI_PORT"},
};

// The names that programs for PyTorch and Keras use; with a value, for that value only.
constexpr OtherName kOtherNames[] = {
    {"accum-iter", "accumulate-steps"},
    {"amp", "math-mode"},
    {"arch", "model"},
    {"backend", "transport"},
    {"clip-grad", "clip-norm"},
    {"clipnorm", "clip-norm"},
    {"cuda", "enable-gpu"},
    {"data", "dataset-path"},
    {"data-dir", "dataset-path"},
    {"data-path", "dataset-path"},
    {"device", "enable-gpu"},
    {"epochs", "num-epochs"},
    {"eval", "evaluate-only"},
    {"gpu", "enable-gpu"},
    {"gpus", "enable-gpu"},
    {"gradient-accumulation-steps", "accumulate-steps"},
    {"learning-rate=find", "find-learning-rate"},
    {"log-dir", "tensorboard-dir"},
    {"logdir", "tensorboard-dir"},
    {"lr", "learning-rate"},
    {"lr-scheduler", "schedulers"},
    {"mixed-precision", "math-mode"},
    {"num-workers", "loader-threads"},
    {"opt", "optimizer"},
    {"optim", "optimizer"},
    {"output", "save-model"},
    {"output-dir", "checkpoint-dir"},
    {"patience", "early-stopping-patience"},
    {"precision", "math-mode"},
    {"pretrained", "weights-and-bias-filename"},
    {"resume-from", "resume"},
    {"resume-from-checkpoint", "resume"},
    {"seed", "random-seed"},
    {"sync-bn", "sync-batch-norm"},
    {"val-split", "validation-split"},
    {"warmup-epochs", "warm-up-epochs"},
    {"wd", "optimizer-decay"},
    {"weight-decay", "optimizer-decay"},
    {"weights", "weights-and-bias-filename"},
    {"workers", "loader-threads"},
};

}  // namespace

std::span<const OptionAlias> AliasTable() { return kAliases; }

const OptionAlias* FindAlias(std::string_view old_name) {
  const auto it = std::ranges::find(kAliases, old_name, &OptionAlias::old_name);
  return it == std::end(kAliases) ? nullptr : it;
}

std::span<const WordAlias> WordAliasTable() { return kWordAliases; }

std::span<const OtherName> OtherWordTable() { return kOtherWords; }

std::span<const ComputedValue> ComputedValueTable() { return kComputedValues; }

std::span<const OtherName> OtherNameTable() { return kOtherNames; }

}  // namespace dtnn
