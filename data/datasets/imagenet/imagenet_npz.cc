#include "data/datasets/imagenet/imagenet_npz.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <new>
#include <numeric>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "data/datasets/imagenet/shard_cache.h"
#include "data/datasets/imagenet/shard_names.h"
#include "data/files/folder_listing.h"
#include "tensor/dtype.h"
#include "tensor/errors.h"
#include "tensor/files/npz.h"
#include "tensor/shape.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSide = kImagenetShardSide;
constexpr int64_t kMaxShardBytes = int64_t{4} << 30;
// The means of blue, green and red.
constexpr std::array<double, 3> kMeans = {103.939, 116.779, 123.68};

constexpr char kHowToGet[] =
    "expected train-*.npz files of x uint8 (n, 3, 227, 227) and y int16 (n, 1); "
    "the program convert_imagenet makes them from ImageNet's archives or from TFRecord files";

// The .npz files in `folder` whose names `wanted` accepts; none where there is no such folder.
template <typename Wanted>
absl::StatusOr<std::vector<std::string>> NpzFiles(const fs::path& folder, const Wanted& wanted) {
  std::vector<std::string> files;
  DTNN_ASSIGN_OR_RETURN(const PathKind kind, LookAt(folder.string()));
  if (kind != PathKind::kFolder) return files;
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::string> names, FilesIn(folder.string()));
  for (const std::string& name : names) {
    if (name.ends_with(".npz") && wanted(name)) files.push_back((folder / name).string());
  }
  return files;
}

struct Found {
  std::vector<std::string> files;
  bool neutral = false;  // neither their names nor their folder's says of which split they are
};

absl::StatusOr<Found> FindShards(const fs::path& path, Split split) {
  const auto any = [](const std::string&) { return true; };
  const auto for_training = [](const std::string& name) { return name.starts_with("train-"); };
  const auto for_test = [](const std::string& name) {
    return name.starts_with("test-") || name.starts_with("val-") || name.starts_with("validation-");
  };
  Found found;
  const bool train = split == Split::kTrain;
  for (const char* folder : {"train", "test", "validation", "val"}) {
    const bool belongs = (std::string_view(folder) == "train") == train;
    if (!belongs || !found.files.empty()) continue;
    DTNN_ASSIGN_OR_RETURN(found.files, NpzFiles(path / folder, any));
  }
  if (found.files.empty()) {
    DTNN_ASSIGN_OR_RETURN(found.files,
                          train ? NpzFiles(path, for_training) : NpzFiles(path, for_test));
  }
  if (found.files.empty()) {
    found.neutral = true;
    DTNN_ASSIGN_OR_RETURN(found.files, NpzFiles(path, [&](const std::string& name) {
                            return train ? !for_test(name) : !for_training(name);
                          }));
  }
  if (!found.files.empty()) return found;
  const absl::Status folder = CheckFolder(path.string());
  return NotFound(folder.ok()
                      ? StrCat(path.string(), ": no .npz files of the ", Name(split), " split")
                      : folder.message(),
                  "; ", kHowToGet);
}

// Classes from 0.
absl::StatusOr<std::vector<int16_t>> ReadLabels(const std::string& file) {
  DTNN_ASSIGN_OR_RETURN(NpzReader reader, NpzReader::Open(file, kMaxShardBytes));
  DTNN_ASSIGN_OR_RETURN(const Tensor y, reader.Read("y"));
  const Shape& shape = y.shape();
  const bool column = shape.rank() == 2 && shape[1] == 1;
  if (y.dtype() != DType::kInt32 || !(shape.rank() == 1 || column)) {
    return InvalidArgument(file, ": y is ", Name(y.dtype()), " ", shape.ToString(),
                           "; expected int16 or int32 (n, 1)");
  }
  std::vector<int16_t> labels;
  for (int64_t i = 0; i < shape[0]; ++i) {
    const int32_t label = y.data<int32_t>()[i];
    if (label < 1 || label > kImagenetClasses) {
      return InvalidArgument(file, ": the class of sample ", i, " is ", label, "; expected 1 to ",
                             kImagenetClasses);
    }
    labels.push_back(int16_t(label - 1));
  }
  return labels;
}

absl::StatusOr<Tensor> ReadImages(const std::string& file, int64_t count) {
  DTNN_ASSIGN_OR_RETURN(NpzReader reader, NpzReader::Open(file, kMaxShardBytes));
  DTNN_ASSIGN_OR_RETURN(Tensor x, reader.Read("x"));
  const Shape expected = {count, 3, kSide, kSide};
  if (x.dtype() != DType::kUint8 || x.shape() != expected) {
    return InvalidArgument(file, ": x is ", Name(x.dtype()), " ", x.shape().ToString(),
                           "; expected uint8 ", expected.ToString(), ", as many images as labels");
  }
  return x;
}

// The files of a split.
class Shards {
 public:
  explicit Shards(int64_t cache_bytes)
      : cache_bytes_(cache_bytes), cache_(cache_bytes, [this](int64_t shard) {
          const int64_t count = begins_[size_t(shard) + 1] - begins_[size_t(shard)];
          return ReadImages(files_[size_t(shard)], count);
        }) {}

  absl::Status Open(std::vector<std::string> files) {
    DTNN_RETURN_IF_ERROR(CheckShardNames(files));
    files_ = std::move(files);
    std::vector<absl::StatusOr<std::vector<int16_t>>> labels(files_.size(), std::vector<int16_t>());
    ParallelFor(0, int64_t(files_.size()), 1, [&](int64_t begin, int64_t end) {
      for (size_t i = size_t(begin); i < size_t(end); ++i) {
        try {
          labels[i] = ReadLabels(files_[i]);
        } catch (const std::bad_alloc&) {
          labels[i] = ResourceExhausted(files_[i], ": not enough memory to read its labels");
        }
      }
    });
    for (const auto& of_file : labels) {
      DTNN_RETURN_IF_ERROR(of_file.status());
      labels_.insert(labels_.end(), of_file->begin(), of_file->end());
      begins_.push_back(int64_t(labels_.size()));
    }
    if (labels_.empty())
      return InvalidArgument(files_[0],
                             ": contains no samples, and neither do the other files of its folder");
    return absl::OkStatus();
  }

  int64_t size() const { return int64_t(labels_.size()); }
  int32_t label(int64_t index) const { return labels_[size_t(index)]; }
  int64_t shard_of(int64_t index) const {
    return std::upper_bound(begins_.begin(), begins_.end(), index) - begins_.begin() - 1;
  }
  int64_t begin(int64_t shard) const { return begins_[size_t(shard)]; }
  absl::StatusOr<Tensor> Images(int64_t shard) const { return cache_.Get(shard); }

  // As many as fit beside the one that comes next.
  SampleGroups Groups() const {
    if (labels_.empty()) return {};
    int64_t largest = 1;
    for (size_t i = 1; i < begins_.size(); ++i) {
      largest = std::max(largest, begins_[i] - begins_[i - 1]);
    }
    const int64_t fit = cache_bytes_ / (largest * 3 * kSide * kSide);
    return {{begins_.begin(), begins_.end() - 1}, std::max<int64_t>(1, fit - 1)};
  }

 private:
  const int64_t cache_bytes_;
  std::vector<std::string> files_;
  std::vector<int16_t> labels_;
  std::vector<int64_t> begins_ = {0};  // of each file, and the end
  mutable ShardCache cache_;
};

// (3, 227, 227) bytes to the middle side x side pixels.
template <typename T>
void Convert(const uint8_t* from, int64_t side, TensorFormat format, T* to) {
  const int64_t first = (kSide - side) / 2;
  const bool nhwc = format == TensorFormat::kNHWC;
  for (int64_t channel = 0; channel < 3; ++channel) {
    const T mean = T(kMeans[size_t(channel)]);
    const uint8_t* plane = from + (2 - channel) * kSide * kSide;
    T* place = nhwc ? to + channel : to + channel * side * side;
    const int64_t step = nhwc ? 3 : 1;
    for (int64_t y = 0; y < side; ++y) {
      const uint8_t* row = plane + (first + y) * kSide + first;
      for (int64_t x = 0; x < side; ++x) place[(y * side + x) * step] = T(row[x]) - mean;
    }
  }
}

// No file may belong to both splits, under whatever names; `unclear`: a file may belong to either.
absl::Status CheckDifferent(const std::string& path, const std::vector<std::string>& train,
                            const std::vector<std::string>& test, bool unclear) {
  std::set<fs::path> of_train;
  std::error_code ignored;
  for (const std::string& file : train) of_train.insert(fs::weakly_canonical(file, ignored));
  for (const std::string& file : test) {
    if (!unclear && !of_train.contains(fs::weakly_canonical(file, ignored))) continue;
    return InvalidArgument(file, ": would be both training data and test data: name the files in ",
                           path, " train-*.npz and test-*.npz, put them into folders ",
                           "train and test, or name a folder for each split");
  }
  return absl::OkStatus();
}

class ImagenetNpz : public Dataset {
 public:
  explicit ImagenetNpz(const ImagenetNpzOptions& options)
      : side_(options.whole ? kSide : 224),
        train_(options.cache_bytes),
        test_(options.cache_bytes) {}

  absl::Status Open(const ImagenetNpzOptions& options) {
    if (options.train.empty() && options.test.empty()) {
      return absl::InvalidArgumentError("imagenet: no path was given");
    }
    Found train, test;
    if (!options.train.empty()) {
      DTNN_ASSIGN_OR_RETURN(train, FindShards(options.train, Split::kTrain));
    }
    if (!options.test.empty()) {
      DTNN_ASSIGN_OR_RETURN(test, FindShards(options.test, Split::kTest));
      const bool unclear = test.neutral && options.one_place;
      DTNN_RETURN_IF_ERROR(CheckDifferent(options.test, train.files, test.files, unclear));
    }
    if (!options.train.empty()) DTNN_RETURN_IF_ERROR(train_.Open(std::move(train.files)));
    if (!options.test.empty()) DTNN_RETURN_IF_ERROR(test_.Open(std::move(test.files)));
    return absl::OkStatus();
  }

  std::string_view name() const override { return "imagenet"; }
  ImageExtents sample() const override { return {side_, side_, 3}; }
  int64_t outputs() const override { return kImagenetClasses; }
  int64_t size(Split split) const override { return shards(split).size(); }
  SampleGroups groups(Split split) const override { return shards(split).Groups(); }
  Preprocessing preprocessing() const override {
    Preprocessing preprocessing = {.input = Preprocessing::Input::kBgrBytes,
                                   .normalization = {.scale = {1}},
                                   .geometry = ImageGeometry{kImagenetShardGeometry}};
    for (const double mean : kMeans) preprocessing.normalization.offset.push_back(-mean);
    return preprocessing;
  }
  bool decodes() const override { return true; }

  // File by file, so that none is decoded twice for one batch.
  absl::Status Read(Split split, std::span<const int64_t> indices, TensorFormat format,
                    const Tensor& x, const Tensor& targets) const override {
    DTNN_RETURN_IF_ERROR(CheckRead(*this, split, indices, format, x, targets));
    const Shards& shards = this->shards(split);
    std::vector<int64_t> rows(indices.size());
    std::iota(rows.begin(), rows.end(), 0);
    std::sort(rows.begin(), rows.end(),
              [&](int64_t a, int64_t b) { return indices[size_t(a)] < indices[size_t(b)]; });
    Tensor images;
    int64_t held = -1;
    for (const int64_t row : rows) {
      const int64_t index = indices[size_t(row)], shard = shards.shard_of(index);
      if (shard != held) {
        DTNN_ASSIGN_OR_RETURN(images, shards.Images(shard));
        held = shard;
      }
      const uint8_t* from =
          images.data<uint8_t>() + (index - shards.begin(shard)) * 3 * kSide * kSide;
      DispatchFloating(x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        Convert(from, side_, format, x.data<T>() + row * 3 * side_ * side_);
      });
      targets.data<int32_t>()[row] = shards.label(index);
    }
    return absl::OkStatus();
  }

 private:
  const Shards& shards(Split split) const { return split == Split::kTrain ? train_ : test_; }

  const int64_t side_;
  Shards train_, test_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> OpenImagenetNpz(const ImagenetNpzOptions& options) {
  auto imagenet = std::make_unique<ImagenetNpz>(options);
  DTNN_RETURN_IF_ERROR(imagenet->Open(options));
  return imagenet;
}

}  // namespace dtnn
