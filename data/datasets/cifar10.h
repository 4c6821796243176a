// CIFAR-10 (Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009): ten classes
// of colour images, 3 x 32 x 32, in its binary form: records (record_file.h) of one label byte and
// 3072 bytes, red, green and blue.
//
//   data_batch_1.bin .. data_batch_5.bin   10000 records each: training
//   test_batch.bin                         10000 records
//
// A path is a folder with these files, one with `cifar-10-batches-bin/` or with
// `cifar-10-binary.tar.gz`, or that archive itself (file_set.h).

#ifndef DTNN_DATA_DATASETS_CIFAR10_H_
#define DTNN_DATA_DATASETS_CIFAR10_H_

#include <memory>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "data/formats/record_file.h"

namespace dtnn {

// Opens the files; unpacked ones are mapped. NotFound lists the names that were looked for and how
// to get them; other errors as in record_file.h and file_set.h.
absl::StatusOr<std::unique_ptr<Dataset>> LoadCifar10(const RecordPaths& paths);

}  // namespace dtnn

#endif  // DTNN_DATA_DATASETS_CIFAR10_H_
