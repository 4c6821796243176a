#include "models/training/sampler_settings.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "data/loading/epoch_division.h"
#include "data/loading/fingerprint.h"
#include "data/transforms/transform.h"
#include "tensor/errors.h"
#include "tensor/named_argument.h"
#include "tensor/text/counted.h"

namespace dtnn {
namespace {

// If ranks have data of their own, only what does not depend on them: a state knows one rank's.
SampleTreatment TreatmentOf(const LoaderOptions& options, bool own_data) {
  std::vector<std::string> transforms = ToStrings(options.transforms);
  if (options.mixup > 0) transforms.push_back(StrCat("mixup:", options.mixup));
  return {.shuffle = options.shuffle,
          .transforms = std::move(transforms),
          .normalization = own_data ? Normalization() : options.normalization};
}

EpochDivision DivisionOf(const SamplerSettings& s, int64_t first) {
  return {.samples = s.samples, .batch = s.batch, .ranks = s.ranks, .first = first};
}

// Statistics that another processor rounds otherwise are the same.
bool Same(const std::vector<double>& a, const std::vector<double>& b) {
  return std::ranges::equal(a, b, [](double x, double y) {
    return std::abs(x - y) <= 1e-6 * std::max(std::abs(x), std::abs(y));
  });
}

std::string Text(const std::vector<double>& values) {
  return values.empty() ? "none" : absl::StrJoin(values, "/");
}

std::optional<Difference> TreatmentDifference(const SampleTreatment& was,
                                              const SampleTreatment& now) {
  if (was.shuffle != now.shuffle) {
    const auto name = [](bool shuffle) { return shuffle ? "shuffled" : "that of the files"; };
    return Difference{"order of samples", name(was.shuffle), name(now.shuffle)};
  }
  if (was.transforms != now.transforms) {
    const auto text = [](const std::vector<std::string>& transforms) {
      return transforms.empty() ? "none" : absl::StrJoin(transforms, ",");
    };
    return Difference{"list of transforms", text(was.transforms), text(now.transforms)};
  }
  std::optional<Difference> difference;
  for (const auto& [what, member] :
       {std::pair("offset of the normalisation", &Normalization::offset),
        std::pair("scale of the normalisation", &Normalization::scale)}) {
    const std::vector<double>&a = was.normalization.*member, &b = now.normalization.*member;
    if (!difference && !Same(a, b)) difference = {what, Text(a), Text(b)};
  }
  return difference;
}

// The first setting that gives an epoch other samples, another order of them or other values.
std::optional<Difference> OrderDifference(const SamplerSettings& was, const SamplerSettings& now) {
  std::optional<Difference> difference;
  const auto compare = [&](const char* what, auto a, auto b) {
    if (!difference && a != b) difference = {what, StrCat(a), StrCat(b)};
  };
  compare("number of samples", was.samples, now.samples);
  compare("number of steps per epoch", was.steps_per_epoch, now.steps_per_epoch);
  compare("seed", was.seed, now.seed);
  if (!difference && was.treatment && now.treatment) {
    difference = TreatmentDifference(*was.treatment, *now.treatment);
  }
  return difference;
}

absl::Status Refused(std::string_view why, std::string_view what_to_do) {
  return InvalidArgument(why, "; ", what_to_do,
                         ", or resume from a checkpoint of the end of an epoch");
}

absl::Status CheckSettings(const SamplerSettings& was, const SamplerSettings& now) {
  const bool same_steps = was.batch == now.batch && was.ranks == now.ranks;
  const std::string steps =
      StrCat("end the epoch on ", Counted(was.ranks, "rank"), " with batches of ", was.batch);
  if (was.own_data != now.own_data) {
    return Refused(
        was.own_data ? "each rank had its own data, in its own order"
                     : "all ranks shared the same data, in one order",
        was.own_data ? "give each rank its own data again" : "give the shared data again");
  }
  if (was.own_data && !same_steps) {
    return Refused("each rank has done a part of its own data, which other ranks cannot continue",
                   steps);
  }
  const std::optional<Difference> difference = OrderDifference(was, now);
  if (!difference) return absl::OkStatus();
  if (was.steps_per_epoch > 0 && was.steps_per_epoch == now.steps_per_epoch && !same_steps) {
    return NamingArgument(
        Refused("with LoaderOptions::steps_per_epoch, the batch size decides which samples the "
                "epoch has",
                StrCat("use batches of ", Counted(DivisionOf(was, 0).step_samples(), "sample"),
                       " over all ranks")),
        "LoaderOptions::steps_per_epoch");
  }
  return Refused(
      StrCat("the ", difference->what, " was ", difference->was, " and is now ", difference->now,
             ": some samples would be used twice and others not at all, or preprocessed "
             "differently"),
      "use the old value");
}

}  // namespace

SamplerSettings SettingsOf(const Loader& training, const RankShares& shares) {
  const LoaderOptions& options = training.options();
  const bool own_data = shares.own_data();
  return {.batch = options.batch,
          .ranks = shares.ranks(),
          .samples = shares.total(),
          .steps_per_epoch = options.steps_per_epoch,
          .seed = own_data ? 0 : options.seed,
          .treatment = TreatmentOf(options, own_data),
          .own_data = own_data};
}

absl::Status CheckPlace(const SamplerSettings& was, int64_t step) {
  const bool possible = was.batch > 0 && was.ranks > 0 && step >= 0 && was.first >= 0 &&
                        was.first <= was.samples && (!was.own_data || was.first == 0);
  const EpochDivision rest = DivisionOf(was, was.first);
  // Ranks with data of their own have as many steps as the one with the most.
  if (possible && (was.own_data || (rest.divides() && step <= rest.steps()))) {
    return absl::OkStatus();
  }
  return InvalidArgument("an epoch cannot have been interrupted ", Counted(step, "step"),
                         " after its first ", Counted(was.first, "sample"), " with ", Describe(was),
                         ": the state is damaged; resume from another checkpoint");
}

absl::StatusOr<EpochPlace> PlaceToResume(const SamplerSettings& was, int64_t step,
                                         const SamplerSettings& now) {
  DTNN_RETURN_IF_ERROR(CheckPlace(was, step));
  DTNN_RETURN_IF_ERROR(CheckSettings(was, now));
  if (now.own_data) return EpochPlace{.step = step};
  const int64_t done = DivisionOf(was, was.first).SamplesBefore(step);
  const EpochDivision whole = DivisionOf(now, 0);
  const int64_t steps = done == whole.samples ? whole.steps() : done / whole.step_samples();
  if (whole.SamplesBefore(steps) == done) return EpochPlace{.step = steps};
  if (!DivisionOf(now, done).divides()) {
    const int64_t left = now.samples - done;
    return Refused(StrCat("the rest of it, ", Counted(left, "sample"),
                          ", cannot be divided over more ranks than samples"),
                   StrCat("end the epoch on ", Counted(left, "rank"), left > 1 ? " or fewer" : ""));
  }
  return EpochPlace{.first = done};
}

int64_t StepsBeforeFirst(const SamplerSettings& settings) {
  if (settings.first == 0) return 0;
  return DivisionOf(settings, 0).steps() - DivisionOf(settings, settings.first).steps();
}

std::string Describe(const SamplerSettings& s) {
  return StrCat(Counted(s.samples, "sample"), ", batches of ", s.batch, " on ",
                Counted(s.ranks, "rank"), ", ", Counted(s.steps_per_epoch, "step"), " per epoch, ",
                s.own_data ? "each rank with its own data" : StrCat("seed ", s.seed));
}

}  // namespace dtnn
