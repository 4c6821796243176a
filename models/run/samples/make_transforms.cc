#include "models/run/samples/make_transforms.h"

#include <algorithm>
#include <cstdint>

#include "comm/ranks/job/exit_code.h"
#include "data/transforms/crop.h"
#include "data/transforms/flip.h"
#include "data/transforms/transform_list.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

absl::Status CheckCrop(const RunOptions& options, const Dataset& dataset) {
  const ImageExtents sample = dataset.sample();
  const int64_t side = std::min(sample.height, sample.width);
  if (!options.data.augment.crop || options.data.augment.crop_size <= side) return absl::OkStatus();
  return UsageError("RunOptions::data.augment.crop_size=", options.data.augment.crop_size,
                    ": is larger than the samples, ", sample.height, " x ", sample.width);
}

}  // namespace

absl::StatusOr<TransformList> MakeTransforms(const RunOptions& options, const Dataset& dataset,
                                             TransformList transforms) {
  DTNN_RETURN_IF_ERROR(CheckCrop(options, dataset));
  if (transforms.empty()) {
    DTNN_ASSIGN_OR_RETURN(transforms, ParseTransforms(options.data.augment.transforms));
  }
  if (options.data.augment.mixup > 0 && dataset.target_kind() != TargetKind::kClass) {
    return UsageError("RunOptions::data.augment.mixup=", options.data.augment.mixup,
                      ": needs one class per sample, but ", dataset.name(), " has ",
                      Name(dataset.target_kind()));
  }
  absl::Status fits = CheckTransforms(transforms, dataset.sample(), dataset.preprocessing());
  if (fits.ok() && dataset.target_kind() == TargetKind::kPixels) {
    fits = CheckMovesLabels(transforms);
  }
  if (!fits.ok()) {
    return UsageError("RunOptions::data.augment.transforms=", options.data.augment.transforms, ": ",
                      fits.message());
  }
  if (options.data.augment.flip) {
    transforms.push_back(Flip({.probability = options.data.augment.flip_probability}));
  }
  if (options.data.augment.crop) {
    transforms.push_back(Crop({.size = options.data.augment.crop_size,
                               .probability = options.data.augment.crop_probability}));
  }
  return transforms;
}

}  // namespace dtnn
