#include "data/datasets/mnist.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "data/class_warnings.h"
#include "data/datasets/class_list.h"
#include "data/files/crc32c.h"
#include "data/files/file_bytes.h"
#include "data/files/folder_listing.h"
#include "data/formats/idx.h"
#include "data/images/image_bytes.h"
#include "tensor/errors.h"
#include "tensor/shape.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

constexpr int kClasses = 10;

constexpr char kFashionMnist[] =
    "`sudo apt-get install dataset-fashion-mnist` installs Fashion-MNIST in "
    "/usr/share/datasets/fashion-mnist";
constexpr char kMnist[] =
    "MNIST consists of these files (MD5): train-images-idx3-ubyte.gz "
    "(f68b3c2dcbeaaa9fbdd348bbdeb94873), train-labels-idx1-ubyte.gz "
    "(d53e105ee54ea40749a09fcbcd1e9432), t10k-images-idx3-ubyte.gz "
    "(9fb629c4189551a2d022fa330f9573f3), t10k-labels-idx1-ubyte.gz "
    "(ec29112dd5afa0611ce80d1b7f02629c)";

// One of the four files.
struct File {
  std::string folder;
  const char* stem;    // "train-images"
  const char* ending;  // "idx3-ubyte"
  int rank;
  std::string path;  // where it was found
  absl::StatusOr<IdxArray> array = absl::UnknownError("not read");
};

// The first name that exists.
absl::StatusOr<std::string> Find(const File& file) {
  std::vector<std::string> names;
  for (const char* packed : {"", ".gz"}) {
    for (const char* separator : {"-", "."}) {
      names.push_back(StrCat(file.stem, separator, file.ending, packed));
    }
  }
  for (const std::string& name : names) {
    const std::string path = (std::filesystem::path(file.folder) / name).string();
    DTNN_ASSIGN_OR_RETURN(const PathKind kind, LookAt(path));
    if (kind != PathKind::kNothing) return path;
  }
  if (const absl::Status status = CheckFolder(file.folder); !status.ok()) {
    return absl::Status(status.code(),
                        StrCat(status.message(), "; expected a folder with ", names[0],
                               " and the other files of MNIST. ", kFashionMnist));
  }
  return NotFound(file.folder, ": the folder contains none of ", absl::StrJoin(names, ", "), ". ",
                  kFashionMnist, ". ", kMnist);
}

absl::StatusOr<IdxArray> MapArray(File& file) {
  DTNN_ASSIGN_OR_RETURN(file.path, Find(file));
  DTNN_ASSIGN_OR_RETURN(IdxArray array, MapIdx(file.path));
  if (array.shape.rank() != file.rank) {
    return InvalidArgument(file.path, ": has shape ", array.shape.ToString(), "; expected rank ",
                           file.rank, ", as in ", file.stem, "-", file.ending);
  }
  if (array.elements.empty()) {
    return InvalidArgument(file.path, ": has shape ", array.shape.ToString(),
                           ", which has no samples");
  }
  return array;
}

struct Samples {
  FileBytes images = {};  // (n, height, width); empty where the split was left out
  // A copy: a mapped file may be written to behind the check.
  std::vector<uint8_t> labels = {};

  int64_t size() const { return int64_t(labels.size()); }
};

absl::StatusOr<Samples> Pair(const File& images, const File& labels) {
  if (!images.array.ok()) return images.array.status();
  if (!labels.array.ok()) return labels.array.status();
  const std::span<const uint8_t> bytes = labels.array->elements.view();
  Samples samples = {images.array->elements, {bytes.begin(), bytes.end()}};
  DTNN_RETURN_IF_ERROR(labels.array->elements.Check());
  if (samples.size() != images.array->shape[0]) {
    return InvalidArgument(labels.path, ": contains ", samples.size(), " labels, but ", images.path,
                           " contains ", images.array->shape[0],
                           " images; do they belong together?");
  }
  const auto wrong =
      std::ranges::find_if(samples.labels, [](uint8_t label) { return label >= kClasses; });
  if (wrong != samples.labels.end()) {
    return InvalidArgument(labels.path, ": the label of sample ", wrong - samples.labels.begin(),
                           " is ", int{*wrong}, "; expected 0 to ", kClasses - 1);
  }
  return samples;
}

class Mnist : public Dataset {
 public:
  // With one channel both formats are the same bytes.
  static constexpr TensorFormat kFormat = TensorFormat::kNHWC;

  Mnist(Samples train, Samples test, ImageExtents sample, std::vector<std::string> names)
      : train_(std::move(train)),
        test_(std::move(test)),
        sample_(sample),
        names_(std::move(names)) {}

  std::string_view name() const override { return "mnist"; }
  ImageExtents sample() const override { return sample_; }
  int64_t outputs() const override { return kClasses; }
  std::vector<std::string> class_names() const override { return names_; }
  bool names_number_classes() const override { return false; }
  int64_t size(Split split) const override { return samples(split).size(); }
  std::vector<int32_t> labels(Split split) const override {
    return {samples(split).labels.begin(), samples(split).labels.end()};
  }
  std::vector<std::string> warnings() const override { return ClassWarnings(*this); }
  std::optional<TensorFormat> byte_format() const override { return kFormat; }

  absl::Status Read(Split split, std::span<const int64_t> indices, TensorFormat format,
                    const Tensor& x, const Tensor& targets) const override {
    DTNN_RETURN_IF_ERROR(CheckRead(*this, split, indices, format, x, targets));
    if (indices.empty()) return absl::OkStatus();
    const size_t pixels = size_t(sample_.height * sample_.width);
    const uint8_t* images = samples(split).images.data();
    const uint8_t* classes = samples(split).labels.data();
    int32_t* labels = targets.data<int32_t>();
    for (size_t i = 0; i < indices.size(); ++i) {
      PutImage({images + size_t(indices[i]) * pixels, pixels}, kFormat, sample_, format, x,
               int64_t(i));
      labels[i] = classes[indices[i]];
    }
    return samples(split).images.Check();
  }

 private:
  const Samples& samples(Split split) const { return split == Split::kTrain ? train_ : test_; }

  const Samples train_, test_;
  const ImageExtents sample_;
  const std::vector<std::string> names_;
};

// Whether the labels of a split are those of Fashion-MNIST.
bool IsFashion(const Samples& samples, Split split) {
  return split == Split::kTrain ? samples.size() == 60000 && Crc32c(samples.labels) == 0x0047f202
                                : samples.size() == 10000 && Crc32c(samples.labels) == 0xe898e67e;
}

absl::StatusOr<std::vector<std::string>> ClassNames(const MnistPaths& paths, const Samples& train,
                                                    const Samples& test) {
  std::vector<std::string> names;
  for (const std::string& folder : {paths.train, paths.test}) {
    if (folder.empty()) continue;
    DTNN_ASSIGN_OR_RETURN(std::vector<std::string> found, ReadClassList(folder, kClasses));
    if (!names.empty() && !found.empty() && names != found) {
      return InvalidArgument(paths.train, " and ", paths.test,
                             ": have different lists of classes in classes.txt");
    }
    if (names.empty()) names = std::move(found);
  }
  if (!names.empty()) return names;
  const bool fashion = (paths.train.empty() || IsFashion(train, Split::kTrain)) &&
                       (paths.test.empty() || IsFashion(test, Split::kTest));
  if (!fashion) return names;
  return std::vector<std::string>{"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                                  "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> LoadMnist(const MnistPaths& paths) {
  std::vector<File> files;
  for (bool train : {true, false}) {
    const std::string& folder = train ? paths.train : paths.test;
    if (folder.empty()) continue;
    files.push_back({folder, train ? "train-images" : "t10k-images", "idx3-ubyte", 3, {}});
    files.push_back({folder, train ? "train-labels" : "t10k-labels", "idx1-ubyte", 1, {}});
  }
  if (files.empty()) return absl::InvalidArgumentError("mnist: no folder was given");
  ParallelFor(0, int64_t(files.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) files[i].array = MapArray(files[i]);
  });

  Samples train, test;
  if (!paths.train.empty()) {
    DTNN_ASSIGN_OR_RETURN(train, Pair(files[0], files[1]));
  }
  if (!paths.test.empty()) {
    DTNN_ASSIGN_OR_RETURN(test, Pair(files[files.size() - 2], files[files.size() - 1]));
  }
  const Shape shape = files[0].array->shape;
  const File& other = files[files.size() - 2];
  if (other.array->shape.DropFirst() != shape.DropFirst()) {
    return InvalidArgument(other.path, ": contains images of ",
                           other.array->shape.DropFirst().ToString(), " but ", files[0].path,
                           " of ", shape.DropFirst().ToString());
  }
  DTNN_ASSIGN_OR_RETURN(std::vector<std::string> names, ClassNames(paths, train, test));
  return std::make_unique<Mnist>(std::move(train), std::move(test),
                                 ImageExtents{.height = shape[1], .width = shape[2], .channels = 1},
                                 std::move(names));
}

}  // namespace dtnn
