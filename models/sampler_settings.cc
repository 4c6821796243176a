#include "models/sampler_settings.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace dtnn {
namespace {

// Six digits of a number: what a user gave, and statistics that another processor rounds otherwise.
std::string Details(const LoaderOptions& options, int64_t accumulate_steps) {
  std::string text = options.shuffle ? "shuffled" : "in order";
  const Augmentation& augmentation = options.augmentation;
  if (augmentation.flip > 0) absl::StrAppend(&text, ", flip ", augmentation.flip);
  if (augmentation.crop > 0) {
    absl::StrAppend(&text, ", crop ", augmentation.crop, " to ", augmentation.crop_size);
  }
  if (options.normalization.any()) {
    absl::StrAppend(&text, ", offset ", absl::StrJoin(options.normalization.offset, "/"), " scale ",
                    absl::StrJoin(options.normalization.scale, "/"));
  }
  if (accumulate_steps > 1) absl::StrAppend(&text, ", updates of ", accumulate_steps, " batches");
  return text;
}

}  // namespace

SamplerSettings SettingsOf(const Loader& training, int64_t accumulate_steps) {
  const LoaderOptions& options = training.options();
  return {.batch = options.batch,
          .ranks = options.ranks,
          .samples = training.samples(),
          .steps_per_epoch = options.steps_per_epoch,
          .seed = options.seed,
          .details = Details(options, accumulate_steps)};
}

bool SameSettings(const SamplerSettings& a, const SamplerSettings& b) {
  SamplerSettings likened = b;
  if (a.details.empty() || b.details.empty()) likened.details = a.details;
  return a == likened;
}

std::string Describe(const SamplerSettings& s) {
  return absl::StrCat(s.samples, " samples, batches of ", s.batch, " on ", s.ranks, " ranks, ",
                      s.steps_per_epoch, " steps per epoch, seed ", s.seed,
                      s.details.empty() ? "" : ", ", s.details);
}

}  // namespace dtnn
