#include "models/run/samples/make_dataset.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/ranks/job/exit_code.h"
#include "models/zoo/zoo.h"
#include "tensor/errors.h"
#include "tensor/format.h"

namespace dtnn {
namespace {

constexpr std::string_view kSynthetic = "synthetic";

// Whether a network takes all of ImageNet's 227 x 227 pixels, as few do.
bool TakesWholeImages(const RunOptions& options, const std::optional<ImageExtents>& network) {
  constexpr int64_t kWhole = 227;
  if (network) return network->height == kWhole;
  const auto& models = ZooModels();
  const auto model = std::ranges::find(models, options.network.name, &ModelInfo::name);
  return model != models.end() && model->data.sample.height == kWhole;
}

OpenDatasetOptions OpenOptions(const RunOptions& options,
                               const std::optional<ImageExtents>& network) {
  const std::vector<int64_t>& input = options.data.synthetic.input_shape;
  return {
      .train_path = TrainPath(options),
      .test_path = TestPath(options),
      .train = ReadsTraining(options),
      .test = ReadsTest(options),
      .geometry = {.square = options.data.center_square.value_or(false),
                   .crop = options.data.center_crop.value_or(false) ? options.data.center_crop_share
                                                                    : 1,
                   .resize = options.data.resize.value_or(false) ? options.data.resize_side : 0},
      .skip_damaged_images = options.data.skip_damaged_images,
      .imagenet_whole = TakesWholeImages(options, network),
      .archive_format = ParseTensorFormat(options.data.archive_format),  // nullopt for auto
      .synthetic = {.train_samples = options.data.synthetic.train_samples,
                    .test_samples = options.data.synthetic.test_samples,
                    .sample = {.height = input[1], .width = input[2], .channels = input[0]},
                    .classes = options.data.synthetic.output_shape[0],
                    .pattern = options.data.synthetic.pattern == "classes"
                                   ? SyntheticPattern::kClasses
                                   : SyntheticPattern::kZeros,
                    .seed = uint64_t(options.training.seed)}};
}

}  // namespace

std::optional<DatasetSize> KnownSize(const RunOptions& options,
                                     const std::optional<ImageExtents>& network) {
  return KnownSize(options.data.name, OpenOptions(options, network));
}

absl::StatusOr<std::shared_ptr<const Dataset>> MakeDataset(
    const RunOptions& options, const std::optional<ImageExtents>& network) {
  OpenDatasetOptions open = OpenOptions(options, network);
  if (std::ranges::count(DatasetNames(), options.data.name) == 0) {
    return UsageError("RunOptions::data.name: unknown data set ", options.data.name);
  }
  if (!options.data.synthetic.instead) {
    if (options.data.name != kSynthetic && open.train_path.empty() && open.test_path.empty()) {
      return UsageError("RunOptions::data.path: missing; where are the files of ",
                        options.data.name, "?");
    }
    absl::StatusOr<std::shared_ptr<const Dataset>> opened = OpenDataset(options.data.name, open);
    return WithContext(std::move(opened), options.data.path.empty()
                                              ? StrCat("RunOptions::data.name=", options.data.name)
                                              : "RunOptions::data.path");
  }
  // As many samples, of the same extents, as the files of that data set have.
  OpenDatasetOptions own = open;
  own.geometry = {};
  const std::optional<DatasetSize> size = KnownSize(options.data.name, own);
  if (!size || size->train == 0) {
    return UsageError("RunOptions::data.synthetic.instead: the sizes of RunOptions::data.name=",
                      options.data.name,
                      " depend on its files; use RunOptions::data.name=synthetic");
  }
  open.synthetic.train_samples = size->train;
  open.synthetic.test_samples = size->test;
  open.synthetic.sample = size->sample;
  open.synthetic.classes = size->outputs;
  return OpenDataset(kSynthetic, open);
}

}  // namespace dtnn
