#include "models/run/checks/check_together.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "comm/ranks/elastic/elastic_range.h"
#include "comm/ranks/job/exit_code.h"
#include "models/run/checks/check_options.h"
#include "models/run/options/in_force.h"
#include "models/run/options/option_text.h"
#include "tensor/status_macros.h"
#include "tensor/text/one_line.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

absl::Status CheckElasticTransport(Transport transport) {
  if (transport == Transport::kTcp) return absl::OkStatus();
  const std::string_view why =
      transport == Transport::kMpi
          ? "MPI ends all ranks with the first that is lost"
          : "the server or broker of the others knows the ranks of the start, and takes no others";
  return UsageError(
      "RunOptions::ranks.elastic: needs RunOptions::ranks.transport=tcp, not ", Name(transport),
      ": ", why,
      ". Without RunOptions::ranks.elastic, and with RunOptions::checkpoint.folder, the ranks that "
      "are left save "
      "a checkpoint and end with exit code 75, from which RunOptions::checkpoint.resume continues");
}

namespace {

// For a member whose meaning is lost where ranks take steps on their own.
absl::Status CheckCommonSteps(const RunOptions& options, std::string_view member) {
  if (options.sync.model_steps.sums_gradients() && options.ranks.shared_storage) {
    return absl::OkStatus();
  }
  return UsageError("RunOptions::", member,
                    ": needs RunOptions::sync.model_steps=0 and "
                    "RunOptions::ranks.shared_storage=True, so that all ranks take every step "
                    "together");
}

// An average of the parameters.
absl::Status CheckAverage(const RunOptions& options) {
  if (options.optimizer.average_decay.value_or(0) == 0) return absl::OkStatus();
  if (options.ranks.parallel == Parallel::kFederated) {
    return UsageError(
        "RunOptions::optimizer.average_decay and RunOptions::ranks.parallel=federated: cannot be "
        "used together; clients send the parameters that they have trained");
  }
  return CheckCommonSteps(options, "optimizer.average_decay");
}

absl::Status CheckFindsRate(const RunOptions& options) {
  if (!options.optimizer.find_learning_rate) return absl::OkStatus();
  const auto exclude = [](std::string_view other, std::string_view why) {
    return UsageError("RunOptions::optimizer.find_learning_rate and RunOptions::", other,
                      ": cannot be used together; ", why);
  };
  constexpr std::string_view kGive =
      "give the rate that was found as RunOptions::optimizer.learning_rate";
  if (Resumes(options)) return exclude("checkpoint.resume", kGive);
  if (!options.ranks.elastic.empty()) return exclude("ranks.elastic", kGive);
  if (options.ranks.parallel == Parallel::kFederated) {
    return exclude("ranks.parallel=federated", "all clients train with one rate");
  }
  if (!options.encryption.kind.empty()) {
    return exclude("encryption.kind", "the ranks tell each other their losses");
  }
  return absl::OkStatus();
}

// What ranks exchange in other forms than gradients as they are.
absl::Status CheckExchange(const RunOptions& options) {
  const auto exclude = [](std::string_view one, std::string_view other, std::string_view why) {
    return UsageError("RunOptions::", one, " and RunOptions::", other,
                      ": cannot be used together; ", why);
  };
  const bool halves = options.sync.compression != "none";
  const std::string compression = StrCat("sync.compression=", options.sync.compression);
  if (halves && options.device.nccl) {
    return exclude(compression, "device.nccl", "NCCL sums gradients as they are, on the GPUs");
  }
  if (options.optimizer.name != "oktopk") return absl::OkStatus();
  constexpr std::string_view kOktopk = "optimizer.name=oktopk";
  if (halves) return exclude(kOktopk, compression, "oktopk has a form of its own for gradients");
  if (options.device.gpu) return exclude(kOktopk, "device.gpu", "oktopk runs on CPUs");
  if (ElementTypeOf(options) != DType::kFloat32) {
    return exclude(kOktopk, StrCat("network.dtype=", Name(ElementTypeOf(options))),
                   "oktopk sends float32");
  }
  if (options.ranks.parallel == Parallel::kFederated) {
    return exclude(kOktopk, "ranks.parallel=federated", "clients of a federation send models");
  }
  return CheckCommonSteps(options, kOktopk);
}

absl::Status CheckMathMode(const RunOptions& options) {
  const MathMode mode = options.device.math_mode;
  if (mode == MathMode::kFp32) return absl::OkStatus();
  if (!options.device.gpu && mode != MathMode::kBf16) {
    return UsageError("RunOptions::device.math_mode=", Name(mode),
                      ": CPUs compute with fp32 or bf16; other modes need RunOptions::device.gpu");
  }
  if (ElementTypeOf(options) == DType::kFloat32) return absl::OkStatus();
  return UsageError("RunOptions::device.math_mode=", Name(mode),
                    " and RunOptions::network.dtype=", Name(ElementTypeOf(options)),
                    ": cannot be used together; parameters are float32 in this mode");
}

absl::Status CheckElastic(const RunOptions& options) {
  if (options.ranks.elastic.empty()) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const ElasticRange range,
                        OfFlag(ElasticRange::Parse(options.ranks.elastic),
                               "RunOptions::ranks.elastic=", options.ranks.elastic));
  if (options.ranks.parallel != Parallel::kData) {
    return UsageError("RunOptions::ranks.elastic=", options.ranks.elastic,
                      ": needs ranks that train together; add RunOptions::ranks.parallel=data");
  }
  DTNN_RETURN_IF_ERROR(CheckElasticTransport(options.ranks.transport.value_or(Transport::kTcp)));
  if (!options.ranks.shared_storage || !options.sync.model_steps.sums_gradients()) {
    return UsageError(
        "RunOptions::ranks.elastic: needs RunOptions::ranks.shared_storage=True and "
        "RunOptions::sync.model_steps=0; a rank that has data or a "
        "model of its own takes them with it when it is lost");
  }
  if (options.device.nccl) {
    return UsageError(
        "RunOptions::ranks.elastic and RunOptions::device.nccl: cannot be used together; NCCL "
        "waits for ranks "
        "that are lost. Without it gradients are summed in the hosts' memory");
  }
  if (options.optimizer.name == "oktopk") {
    return UsageError(
        "RunOptions::ranks.elastic and RunOptions::optimizer.name=oktopk: cannot be used together; "
        "what a rank has not sent yet "
        "of its gradients would be lost with it");
  }
  if (options.training.steps_per_epoch > 0 && !options.training.global_batch) {
    return UsageError(
        "RunOptions::ranks.elastic and RunOptions::training.steps_per_epoch: need "
        "RunOptions::training.global_batch; with RunOptions::training.batch, which "
        "samples an epoch has would depend on the number of ranks");
  }
  for (int ranks = range.min; options.training.global_batch && ranks <= range.max; ++ranks) {
    if (*options.training.global_batch % ranks == 0) continue;
    return UsageError("RunOptions::training.global_batch=", *options.training.global_batch,
                      ": must be a multiple of every number of ranks from ", range.min, " to ",
                      range.max, " (RunOptions::ranks.elastic=", options.ranks.elastic,
                      "), but is not of ", ranks);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckTogether(const RunOptions& options) {
  const auto exclude = [](std::string_view one, std::string_view other) {
    return UsageError("RunOptions::", one, " and RunOptions::", other,
                      ": cannot be used together; give one of them");
  };
  if (options.data.normalize.value_or(false) && options.data.standardize.value_or(false))
    return exclude("data.normalize", "data.standardize");
  if (options.output.quiet && options.output.verbose != Verbosity::kNo)
    return exclude("output.quiet", "output.verbose");
  std::string_view whole_run = "";
  for (const std::string_view name : {"cosine", "polynomial", "one_cycle"}) {
    if (!Schedules(options, name)) continue;
    if (!whole_run.empty()) {
      return UsageError("RunOptions::schedule.schedulers: ", whole_run, " and ", name,
                        " both set the rate of the whole run; give one of them");
    }
    whole_run = name;
  }
  if (const AugmentOptions& augment = options.data.augment;
      !augment.transforms.empty() && (augment.flip || augment.crop)) {
    return UsageError("RunOptions::data.augment.transforms=", OneLine(augment.transforms, 200),
                      ": cannot be used with RunOptions::data.augment.flip or "
                      "RunOptions::data.augment.crop; write flip:",
                      ToText(augment.flip_probability), " or crop:", augment.crop_size, ":",
                      ToText(augment.crop_probability), " into the list");
  }
  if (options.convolution.best_of && options.convolution.variant != "auto") {
    return UsageError(
        "RunOptions::convolution.variant=", options.convolution.variant,
        " and RunOptions::convolution.best_of: cannot be used together; name the algorithm, or let "
        "it be found by timing");
  }
  if (options.device.gpudirect && options.device.gpu && options.ranks.parallel == Parallel::kData) {
    return UsageError(
        "RunOptions::device.gpudirect: gradients go to MPI through pinned memory of the host, "
        "whatever MPI "
        "could read; leave it out, or let the GPUs sum them with RunOptions::device.nccl");
  }
  if (options.convolution.variant != "auto" && options.device.gpu) {
    return UsageError(
        "RunOptions::convolution.variant and RunOptions::device.gpu: cannot be used together; the "
        "variants are "
        "algorithms of the CPU, on GPUs cuDNN has its own");
  }
  for (const auto& [member, path] :
       {std::pair("path", options.data.path), std::pair("train_path", options.data.train_path),
        std::pair("test_path", options.data.test_path)}) {
    if (options.ranks.parallel == Parallel::kData && options.ranks.shared_storage &&
        path.find("$rank") != path.npos) {
      return UsageError("RunOptions::data.", member, "=", path,
                        ": $rank means that each rank has its own data; add "
                        "RunOptions::ranks.shared_storage=False");
    }
  }
  DTNN_RETURN_IF_ERROR(CheckFederation(options));
  DTNN_RETURN_IF_ERROR(CheckEncryptedSums(options));
  DTNN_RETURN_IF_ERROR(CheckExchange(options));
  DTNN_RETURN_IF_ERROR(CheckAverage(options));
  DTNN_RETURN_IF_ERROR(CheckFindsRate(options));
  DTNN_RETURN_IF_ERROR(CheckMathMode(options));
  DTNN_RETURN_IF_ERROR(CheckPrivacy(options));
  DTNN_RETURN_IF_ERROR(CheckElastic(options));
  if (Resumes(options) && options.checkpoint.folder.empty()) {
    return UsageError(
        "RunOptions::checkpoint.resume: needs RunOptions::checkpoint.folder, the folder of the "
        "checkpoints");
  }
  // With if-there, the weights are those that a new run begins with.
  if (options.checkpoint.resume == Resume::kYes && !options.network.weights.empty()) {
    return exclude("checkpoint.resume", "network.weights");
  }
  if (!options.checkpoint.folder.empty() && options.training.evaluate_only) {
    return exclude("checkpoint.folder", "training.evaluate_only");
  }
  return options.sync.batch_norm ? CheckCommonSteps(options, "sync.batch_norm") : absl::OkStatus();
}

}  // namespace dtnn
