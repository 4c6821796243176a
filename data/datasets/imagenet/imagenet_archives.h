// Where the images of ImageNet's original archives lie, and of which class each is; the archives
// are described in imagenet_tar.h. Only headers are read: one per image.

#ifndef DTNN_DATA_DATASETS_IMAGENET_IMAGENET_ARCHIVES_H_
#define DTNN_DATA_DATASETS_IMAGENET_IMAGENET_ARCHIVES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/datasets/file_list.h"

namespace dtnn {

inline constexpr char kImagenetTrainTar[] = "ILSVRC2012_img_train.tar";
inline constexpr char kImagenetValidationTar[] = "ILSVRC2012_img_val.tar";

struct LabelledFiles {
  FileList files;
  std::vector<int32_t> labels;  // from 0, in the order of the classes' names
};

struct ImagenetArchives {
  std::vector<std::string> names;  // of the classes: "n01440764"
  std::vector<std::string> words;  // "tench, Tinca tinca"; the names where there is no kit
  LabelledFiles train, validation;
};

// `train`, `validation`: the folders of the splits; one with an empty name is not read. The
// validation split needs the development kit. Errors as in imagenet_tar.h.
absl::StatusOr<ImagenetArchives> IndexImagenet(const std::string& train,
                                               const std::string& validation);

}  // namespace dtnn

#endif  // DTNN_DATA_DATASETS_IMAGENET_IMAGENET_ARCHIVES_H_
