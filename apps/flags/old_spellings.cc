// The part of option_table.h that is about earlier releases.

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

constexpr ComputedValue kComputedValues[] = {
    {"mpi-processes", "it is the number of processes that mpirun or launch starts"},
    {"threads-per-process", "set the environment variable OMP_NUM_THREADS"},
    {"gpus-per-node", "it is the number of GPUs found"},
    {"mpi-protocol", "use --transport, or set the environment variable PYMPI_PROTO"},
    {"mpi-server", "use --rendezvous, or set the environment variable PYMPI_ADDR"},
    {"mpi-port", "use --rendezvous, or set the environment variable PYMPI_PORT"},
};

}  // namespace

std::span<const OptionAlias> AliasTable() { return kAliases; }

const OptionAlias* FindAlias(std::string_view old_name) {
  const auto it = std::ranges::find(kAliases, old_name, &OptionAlias::old_name);
  return it == std::end(kAliases) ? nullptr : it;
}

std::span<const WordAlias> WordAliasTable() { return kWordAliases; }

std::span<const ComputedValue> ComputedValueTable() { return kComputedValues; }

}  // namespace dtnn
