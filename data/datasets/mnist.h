// MNIST and the data sets that share its files (Fashion-MNIST, KMNIST, ...): ten classes of grey
// images, as four IDX files (idx.h), each plain or gzip:
//
//   train-images-idx3-ubyte   train-labels-idx1-ubyte   t10k-images-idx3-ubyte
//   t10k-labels-idx1-ubyte
//
// also spelt with a dot before "idx". Where several of these names exist, plain comes before gzip.
// The extents of the images are those of the files (28 x 28 in all of the above). The files hold no
// names of classes: those of classes.txt beside them count (class_list.h), and Fashion-MNIST, known
// by its labels, has its own.

#ifndef DTNN_DATA_DATASETS_MNIST_H_
#define DTNN_DATA_DATASETS_MNIST_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "data/dataset.h"

namespace dtnn {

// Where Debian's package dataset-fashion-mnist puts its files.
inline constexpr char kFashionMnistPath[] = "/usr/share/datasets/fashion-mnist";

// Folders of the two splits, usually the same one. A split with an empty name is not read: its size
// is 0 (a program that only evaluates starts sooner).
struct MnistPaths {
  std::string train, test;
};

// Opens the files, those of the two splits in parallel; images of plain files stay there
// (file_bytes.h). NotFound lists the names that were looked for and how to get them;
// InvalidArgument and DataLoss name the file, what it holds and what was expected: lengths, equal
// counts, equal extents, labels below 10.
absl::StatusOr<std::unique_ptr<Dataset>> LoadMnist(const MnistPaths& paths);

}  // namespace dtnn

#endif  // DTNN_DATA_DATASETS_MNIST_H_
