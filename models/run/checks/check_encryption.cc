#include <string_view>

#include "comm/ranks/job/exit_code.h"
#include "models/run/checks/check_together.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

absl::Status CheckKeyFile(const RunOptions& options, std::string_view who) {
  if (options.encryption.kind != "tenseal" || !options.encryption.key_file.empty()) {
    return absl::OkStatus();
  }
  return UsageError(
      "RunOptions::encryption.key_file: missing; RunOptions::encryption.kind=tenseal needs the key "
      "that all ",
      who, " share (`openssl rand -hex 32` makes one)");
}

}  // namespace

absl::Status CheckEncryptedSums(const RunOptions& options) {
  if (options.encryption.kind.empty()) return absl::OkStatus();
  if (options.ranks.parallel == Parallel::kSequential) {
    return UsageError("RunOptions::encryption.kind=", options.encryption.kind,
                      ": protects what ranks or clients send, and a run with "
                      "RunOptions::ranks.parallel=sequential sends nothing; add "
                      "RunOptions::ranks.parallel=data or RunOptions::ranks.parallel=federated");
  }
  if (options.ranks.parallel != Parallel::kData) return absl::OkStatus();
  const auto exclude = [&](std::string_view other, std::string_view why) {
    return UsageError("RunOptions::encryption.kind=", options.encryption.kind,
                      " and RunOptions::", other, ": cannot be used together; ", why);
  };
  if (options.encryption.kind != "tenseal") {
    return exclude("ranks.parallel=data",
                   "it protects clients from each other in rounds of an aggregator, which ranks do "
                   "not have; use RunOptions::ranks.parallel=federated, or "
                   "RunOptions::encryption.kind=tenseal");
  }
  if (options.sync.mpi_sums.value_or(false)) {
    return exclude("sync.mpi_sums=True", "MPI cannot add ciphertexts; leave that option out");
  }
  constexpr std::string_view kOnCpus = "ciphertexts are added on CPUs, from the hosts' memory";
  if (options.device.nccl) return exclude("device.nccl", kOnCpus);
  if (options.device.gpu) return exclude("device.gpu", kOnCpus);
  if (ElementTypeOf(options) != DType::kFloat32) {
    return exclude(StrCat("network.dtype=", Name(ElementTypeOf(options))),
                   "what is encrypted is float32");
  }
  if (options.sync.compression != "none") {
    return exclude(StrCat("sync.compression=", options.sync.compression),
                   "ciphertexts are as long whatever they hold");
  }
  if (options.optimizer.name == "oktopk") {
    return exclude("optimizer.name=oktopk",
                   "which gradients are the largest would be sent as it is");
  }
  if (options.sync.batch_norm) {
    return exclude("sync.batch_norm", "statistics of samples would be sent as they are");
  }
  if (!options.ranks.elastic.empty()) {
    return exclude("ranks.elastic", "ranks that come are given the model as it is");
  }
  return CheckKeyFile(options, "ranks");
}

absl::Status CheckFederation(const RunOptions& options) {
  const bool federated = options.ranks.parallel == Parallel::kFederated;
  const auto exclude = [](std::string_view one, std::string_view other, std::string_view why) {
    return UsageError("RunOptions::", one, " and RunOptions::", other,
                      ": cannot be used together; ", why);
  };
  if (!federated) return absl::OkStatus();
  DTNN_RETURN_IF_ERROR(CheckKeyFile(options, "clients"));
  constexpr std::string_view kParallel = "ranks.parallel=federated";
  if (options.device.gpu) {
    return exclude(kParallel, "device.gpu", "clients train on CPUs in this version");
  }
  if (options.ranks.transport == Transport::kMpi) {
    return exclude(kParallel, "ranks.transport=mpi", "clients come by tcp, grpc or mqtt");
  }
  if (ElementTypeOf(options) != DType::kFloat32) {
    return exclude(kParallel, "network.dtype=float64", "what clients send is float32");
  }
  const bool local = !options.federation.local_parameters.empty();
  if (options.training.evaluate_only) {
    return exclude(kParallel, "training.evaluate_only", "a client of a federation trains");
  }
  if (!local && !options.network.weights.empty()) {
    return exclude(kParallel, "network.weights",
                   "the aggregator says what training begins with, but for "
                   "RunOptions::federation.local_parameters");
  }
  return absl::OkStatus();
}

}  // namespace dtnn
