#include "data/datasets/imagenet/imagenet.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "data/datasets/imagenet/imagenet_archives.h"
#include "data/datasets/imagenet/imagenet_npz.h"
#include "data/datasets/imagenet/imagenet_tar.h"
#include "data/transforms/transformed.h"
#include "tensor/errors.h"
#include "tensor/named_argument.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

bool HoldsArchives(const std::string& folder) {
  std::error_code error;
  const std::filesystem::path path = folder;
  return !folder.empty() && (std::filesystem::exists(path / kImagenetTrainTar, error) ||
                             std::filesystem::exists(path / kImagenetValidationTar, error));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Dataset>> OpenImagenet(const ImagenetOptions& options) {
  if (HoldsArchives(options.train) || HoldsArchives(options.test)) {
    return OpenImagenetTar({.train = options.train,
                            .test = options.test,
                            .geometry = options.geometry,
                            .skip_damaged = options.skip_damaged});
  }
  const bool done = options.geometry == kImagenetShardGeometry;  // when they were written
  DTNN_ASSIGN_OR_RETURN(std::shared_ptr<const Dataset> shards,
                        OpenImagenetNpz({.train = options.train,
                                         .test = options.test,
                                         .one_place = options.one_place,
                                         .whole = options.whole || done,
                                         .cache_bytes = options.cache_bytes}));
  if (options.skip_damaged) {
    constexpr std::string_view kOption = "OpenDatasetOptions::skip_damaged_images";
    const std::string& folder = options.train.empty() ? options.test : options.train;
    return NamingArgument(
        InvalidArgument(folder, ": contains .npz files, whose images are not skipped; ", kOption,
                        " is for ImageNet's archives; leave it out"),
        kOption);
  }
  if (done) return shards;
  return Transform(std::move(shards), options.geometry);
}

}  // namespace dtnn
