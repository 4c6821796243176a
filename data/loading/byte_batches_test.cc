// Batches of bytes, put through the CPU's ByteImages, are the batches of values that loaders
// prepare themselves, bit for bit: of all data sets that hold bytes, whatever is done to samples.

#include "data/loading/byte_batches.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/datasets/folder.h"
#include "data/datasets/masks/masks.h"
#include "data/datasets/mnist.h"
#include "data/datasets/more_classes.h"
#include "data/datasets/npz_dataset.h"
#include "data/formats/record_file.h"
#include "data/loading/batch_values.h"
#include "data/loading/loader.h"
#include "data/loading/split.h"
#include "data/testing/counting_dataset.h"
#include "data/testing/idx_files.h"
#include "data/testing/image_files.h"
#include "data/testing/mask_folder.h"
#include "data/transforms/transform_list.h"
#include "data/transforms/transformed.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/npz.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Elements;
using ::testing::HasSubstr;
using testing::NewFolder;
using testing::WriteFile;

constexpr int64_t kSamples = 29;

std::shared_ptr<const Dataset> MnistFiles() {
  const std::string folder = NewFolder("mnist");
  WriteFile(folder, "train-images-idx3-ubyte",
            testing::IdxBytes({uint32_t(kSamples), 5, 7}, Elements(kSamples * 35)));
  const std::vector<uint8_t> labels(kSamples, 3);
  WriteFile(folder, "train-labels-idx1-ubyte", testing::IdxBytes({uint32_t(kSamples)}, labels));
  return LoadMnist({.train = folder, .test = ""}).value();
}

// A byte of label before each sample.
std::shared_ptr<const Dataset> Records(TargetKind kind) {
  const int64_t outputs = kind == TargetKind::kClass ? 256 : 1;
  const RecordFormat format = {
      .name = "records", .sample = {6, 5, 3}, .outputs = outputs, .kind = kind};
  return MakeRecordDataset(format, {{"records", Elements(kSamples * 91)}}, {}).value();
}

std::shared_ptr<const Dataset> Npz(DType dtype) {
  const Tensor x = testing::IntegerTensor(DType::kInt32, {kSamples, 2, 3, 8}, 1, 127);
  std::vector<double> bytes = testing::Values(x);
  for (double& byte : bytes) byte += 127;
  const std::string path = NewFolder("npz") + "/data.npz";
  EXPECT_EQ(WriteNpz(path, {{"x_train", testing::TensorOf(dtype, x.shape(), bytes)},
                            {"y_train", testing::RandomTensor(DType::kFloat32, {kSamples, 2}, 2)}}),
            absl::OkStatus());
  return LoadNpzDataset({.train = path, .test = ""}, {.format = TensorFormat::kNCHW}).value();
}

std::shared_ptr<const Dataset> ImageFolder() {
  const std::string root = NewFolder("images");
  for (int i = 0; i < int(kSamples); ++i) {
    const std::string folder = root + "/train/class" + std::to_string(i % 3);
    std::filesystem::create_directories(folder);
    WriteFile(folder, std::to_string(i) + ".png",
              testing::EncodePng(6, 9, testing::SmoothPixels(6, 9, 3, i)));
  }
  return OpenFolder({.train = root}).value();
}

std::shared_ptr<const Dataset> Masks() {
  const std::string root = NewFolder("masks");
  testing::WriteMaskFolder(root, 9, int(kSamples), 0);
  return OpenMasks({.train = root}).value();
}

std::vector<std::pair<std::string, std::shared_ptr<const Dataset>>> AllDatasets() {
  return {{"mnist", MnistFiles()},
          {"records of classes", Records(TargetKind::kClass)},
          {"records of values", Records(TargetKind::kValues)},
          {"npz", Npz(DType::kUint8)},
          {"folder", ImageFolder()},
          {"masks", Masks()},
          {"more classes", *WithClasses(MnistFiles(), 20)}};
}

std::string Bits(const Tensor& tensor) {
  return std::string(reinterpret_cast<const char*>(tensor.raw_data()),
                     size_t(tensor.num_elements()) * SizeOf(tensor.dtype()));
}

// Two epochs, a string for the values and the targets of each batch.
std::vector<std::string> Epochs(const std::shared_ptr<const Dataset>& dataset,
                                const LoaderOptions& options) {
  auto loader = Loader::Create(dataset, Split::kTrain, AllIndices(kSamples), options).value();
  std::vector<std::string> batches;
  for (const int64_t epoch : {0, 1}) {
    loader->StartEpoch(epoch);
    while (const Batch* batch = loader->Next().value()) {
      EXPECT_EQ(batch->bytes != nullptr, options.bytes);
      EXPECT_EQ(batch->x.dtype(), options.bytes ? DType::kUint8 : options.dtype);
      EXPECT_EQ(batch->changes.empty(), !options.bytes || options.transforms.empty());
      const Tensor values = *ValuesOf(*batch, 0, batch->count);
      EXPECT_EQ(values.dtype(), options.dtype);
      EXPECT_EQ(values.shape(),
                SampleShape(dataset->sample(), options.format).Prepend(batch->count));
      if (batch->count > 1) {  // the last one alone
        const int64_t last = batch->count - 1;
        EXPECT_EQ(Bits(*ValuesOf(*batch, last, 1)),
                  Bits(values.Samples(last, 1, TensorFormat::kNHWC)));
      }
      batches.push_back(Bits(values) + Bits(batch->targets));
    }
  }
  return batches;
}

TEST(ByteBatchesTest, BecomeTheBatchesThatLoadersPrepare) {
  for (const auto& [name, dataset] : AllDatasets()) {
    SCOPED_TRACE(name);
    const size_t channels = size_t(dataset->sample().channels);
    for (const char* const transforms :
         {"", "flip", "vertical_flip:1", "pad_crop:2", "pad_crop:2:reflect", "crop:2:0.7",
          "cutout:2:zero", "flip,pad_crop:1,cutout:3:zero",
          "cutout:2:zero,pad_crop:2:reflect,flip,crop:3:0.5,pad_crop:2,flip"}) {
      SCOPED_TRACE(transforms);
      for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
        for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
          std::vector<double> offsets, scales;
          for (size_t c = 0; c < channels; ++c) {
            offsets.push_back(-0.1 * double(c + 1));
            scales.push_back(3.7 / double(c + 1));
          }
          for (const Normalization& normalization :
               {Normalization(), Normalization{{-0.45}, {3.75}}, Normalization{offsets, scales}}) {
            LoaderOptions options = {.batch = 6,
                                     .seed = 11,
                                     .format = format,
                                     .dtype = dtype,
                                     .prefetch = 0,
                                     .transforms = *ParseTransforms(transforms),
                                     .normalization = normalization};
            const std::vector<std::string> expected = Epochs(dataset, options);
            options.bytes = true;
            ASSERT_EQ(Epochs(dataset, options), expected);
          }
        }
      }
    }
  }
}

// All samples of an epoch, whichever rank has read them.
TEST(ByteBatchesTest, DoNotDependOnBatchThreadsOrRanks) {
  const auto dataset = MnistFiles();
  LoaderOptions options = {
      .seed = 4, .transforms = *ParseTransforms("flip,pad_crop:2,flip"), .bytes = true};
  const auto see = [&] {
    std::vector<std::string> bits;
    for (options.rank = 0; options.rank < options.ranks; ++options.rank) {
      auto loader = Loader::Create(dataset, Split::kTrain, AllIndices(kSamples), options).value();
      loader->StartEpoch(1);
      while (const Batch* batch = loader->Next().value()) {
        for (int64_t i = 0; i < batch->count; ++i) {
          bits.push_back(Bits(batch->x.Samples(i, 1, options.format)) +
                         Bits(batch->changes.Samples(i, 1, options.format)));
        }
      }
    }
    options.rank = 0;
    std::ranges::sort(bits);
    return bits;
  };
  const std::vector<std::string> expected = see();
  EXPECT_EQ(int64_t(expected.size()), kSamples);
  for (const int ranks : {1, 3}) {
    for (const int threads : {1, 4}) {
      for (const int64_t batch : {1, 7}) {
        options.ranks = ranks;
        options.threads = threads;
        options.batch = batch;
        EXPECT_EQ(see(), expected) << ranks << " ranks, " << threads << " threads, " << batch;
      }
    }
  }
}

TEST(ByteBatchesTest, SayWhatStandsAgainstThem) {
  const auto mnist = MnistFiles();
  EXPECT_EQ(WhyNoBytes(*mnist, {}, 0), "");
  EXPECT_EQ(WhyNoBytes(*mnist, {}, 0.2), "mixup mixes values");
  EXPECT_EQ(WhyNoBytes(*mnist, *ParseTransforms("flip,cutout:2"), 0),
            "cutout:2:mean computes values");
  for (const char* const computing : {"resized_crop", "rotate", "color_jitter"}) {
    EXPECT_THAT(WhyNoBytes(*mnist, *ParseTransforms(computing), 0), HasSubstr(" computes values"));
  }
  EXPECT_EQ(WhyNoBytes(testing::CountingDataset(3), {}, 0),
            "counting, as it is read here, gives values, not bytes");
  EXPECT_NE(WhyNoBytes(*Npz(DType::kFloat32), {}, 0), "");
  EXPECT_NE(WhyNoBytes(**Transform(mnist, {.resize = 4}), {}, 0), "") << "values are resized";

  const auto of_channels = [](int64_t channels) {
    const RecordFormat format = {.name = "records", .sample = {1, 2, channels}, .outputs = 256};
    const size_t bytes = size_t(kSamples * (1 + 2 * channels));
    return WhyNoBytes(**MakeRecordDataset(format, {{"records", Elements(bytes)}}, {}), {}, 0);
  };
  EXPECT_EQ(of_channels(16), "");
  EXPECT_EQ(of_channels(17), "records has samples of 17 channels, not of 16 at most");

  const auto refused =
      Loader::Create(mnist, Split::kTrain, AllIndices(3), {.mixup = 0.2, .bytes = true});
  EXPECT_EQ(refused.status(), absl::InvalidArgumentError("batches of bytes: mixup mixes values"));
}

}  // namespace
}  // namespace dtnn
