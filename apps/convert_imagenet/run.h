// ImageNet into .npz files of preprocessed images (data/datasets/imagenet/imagenet_npz.h), from
// what the input folder holds:
//
//   train-00000-of-01024, ..., validation-00000-of-00128, ...   TFRecord files of Examples: one
//   .npz
//                                                               file each, of the same name
//   ILSVRC2012_img_train.tar, ILSVRC2012_img_val.tar, and the   the training images in a random
//   order development kit                                             that is always the same,
//   divided over
//                                                               as many files as asked
//
// Each file says what it was made from: the kind and size of the input, and which of an archive's
// images. One that exists whole and says the same is left alone, so a conversion that was stopped
// can be continued. One that says something else, or nothing, as files of other programs and older
// versions, or that is not of ImageNet's images, is refused before the first is written. Files are
// written under another name first. Several are made at a time, one per thread, each of which takes
// about 200 MB of memory.

#ifndef DTNN_APPS_CONVERT_IMAGENET_RUN_H_
#define DTNN_APPS_CONVERT_IMAGENET_RUN_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/status/status.h"

namespace dtnn {

struct ConvertOptions {
  std::string input = {}, output = {};  // folders
  std::string part = "all";             // or train, validation
  int64_t train_files = 1024;           // from archives
  int64_t validation_files = 128;
  bool stored = false;  // not compressed: three times the speed, a third more room
};

// A line per file to `out`. Ends at the first error, which names the file and the record or member;
// files that were finished before stay. Usage errors for missing folders and unknown words.
absl::Status ConvertImagenet(const ConvertOptions& options, std::ostream& out);

}  // namespace dtnn

#endif  // DTNN_APPS_CONVERT_IMAGENET_RUN_H_
