#include "data/datasets/cifar10.h"

#include "tensor/text/str_cat.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<Dataset>> LoadCifar10(const RecordPaths& paths) {
  RecordSet set;
  set.format = {.name = "cifar10",
                .sample = {.height = 32, .width = 32, .channels = 3},
                .outputs = 10,
                .class_names = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog",
                                "horse", "ship", "truck"}};
  set.files.folder = "cifar-10-batches-bin";
  set.files.archive = "cifar-10-binary.tar.gz";
  set.files.how_to_get =
      "Download CIFAR-10, cifar-10-binary.tar.gz (MD5 c32a1d4ab5d03f1284b67883e8d87530), from "
      "https://www.cs.toronto.edu/~kriz/cifar.html; it need not be unpacked";
  for (const char* digit : {"1", "2", "3", "4", "5"}) {
    set.train.push_back(StrCat("data_batch_", digit, ".bin"));
  }
  set.test = {"test_batch.bin"};
  return LoadRecordSet(set, paths);
}

}  // namespace dtnn
