// ChestX-ray14 of the NIH (112120 grey images, 1024 x 1024, of 30805 patients; Wang et al.,
// "ChestX- ray8", CVPR 2017), in a folder P:
//
//   P/Data_Entry_2017.csv               or Data_Entry_2017_v2020.csv: columns "Image Index" and
//                                       "Finding Labels", the labels separated by '|'
//   P/train_val_list.txt, test_list.txt the splits: a name per line
//   P/images/<name>                     the images; or P/<name>, P/images_*/<name>,
//                                       P/images_*/images/<name>, or in P/images_*.tar
//
// The archives come as .tar.gz, whose files cannot be read in any order: unpack them, or `gunzip`
// them to .tar, which are read as they are. (Images hardly compress: either takes no more room.)
//
// An image has any number of findings, so the targets are values: 15 outputs, 1 for each finding
// that it has and 0 for the others; "No Finding" is one of them. Samples have one channel; they are
// read from disk in Read (image_dataset.h).

#ifndef DTNN_DATA_DATASETS_CHESTXRAY_H_
#define DTNN_DATA_DATASETS_CHESTXRAY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "data/images/resize.h"

namespace dtnn {

struct ChestXrayOptions {
  // P of each split, usually the same. A split with an empty name is not read.
  std::string train = {}, test = {};
  Geometry geometry = {};
  bool skip_damaged = false;  // image_dataset.h
};

// NotFound lists what is missing: the table, a list, images of the list. InvalidArgument names the
// line of the table: a missing column, an unknown finding, an image twice.
absl::StatusOr<std::unique_ptr<Dataset>> OpenChestXray(const ChestXrayOptions& options);

}  // namespace dtnn

#endif  // DTNN_DATA_DATASETS_CHESTXRAY_H_
