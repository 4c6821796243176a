#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "apps/convert_imagenet/run.h"
#include "comm/ranks/job/exit_code.h"
#include "data/datasets/imagenet/imagenet_npz.h"
#include "data/files/folder_listing.h"
#include "data/loading/split.h"
#include "data/testing/archives.h"
#include "data/testing/idx_files.h"
#include "data/testing/image_files.h"
#include "data/testing/matlab_files.h"
#include "data/testing/tf_records.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/serving/image_input.h"
#include "tensor/files/npz.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using testing::FlatJpeg;
using ::testing::HasSubstr;
using testing::ImageExampleBytes;
using testing::TarBytes;
using testing::TfRecordBytes;
using ::testing::UnorderedElementsAre;
using testing::WriteFile;
using Bytes = std::vector<uint8_t>;

// The red of every image is its label.
Bytes Records(const std::vector<uint8_t>& labels) {
  Bytes bytes;
  for (const uint8_t label : labels) {
    const Bytes record =
        TfRecordBytes(ImageExampleBytes({FlatJpeg(20 + label, 30, {label, 0, 0}), label}));
    bytes.insert(bytes.end(), record.begin(), record.end());
  }
  return bytes;
}

std::string Input() {
  const std::string folder = testing::NewFolder("convert_input");
  WriteFile(folder, "train-00000-of-00002", Records({7, 100}));
  WriteFile(folder, "train-00001-of-00002", Records({30}));
  WriteFile(folder, "validation-00000-of-00001", Records({50}));
  WriteFile(folder, "train-notes.txt", Bytes{1});
  return folder;
}

std::string Output() { return testing::NewFolder("convert_output") + "/new"; }

std::string Converted(const ConvertOptions& options) {
  std::ostringstream out;
  const absl::Status status = ConvertImagenet(options, out);
  EXPECT_TRUE(status.ok()) << status;
  return out.str();
}

std::string Error(const ConvertOptions& options) {
  std::ostringstream out;
  return std::string(ConvertImagenet(options, out).message());
}

// Labels from 1; checks that the images are those of the labels.
std::vector<int> Labels(const std::string& folder, Split split, int64_t scale = 1) {
  const bool train = split == Split::kTrain;
  const auto imagenet =
      OpenImagenetNpz({.train = train ? folder : "", .test = train ? "" : folder}).value();
  const int64_t n = imagenet->size(split);
  const Tensor x = Tensor::Zeros(DType::kFloat32, Shape{n, 224, 224, 3}).value();
  const Tensor targets = Tensor::Zeros(DType::kInt32, Shape{n}).value();
  const absl::Status status = imagenet->Read(split, AllIndices(n), TensorFormat::kNHWC, x, targets);
  EXPECT_TRUE(status.ok()) << status;
  std::vector<int> labels;
  for (int64_t i = 0; i < n; ++i) {
    const int label = targets.data<int32_t>()[i] + 1;
    EXPECT_NEAR(x.data<float>()[i * 224 * 224 * 3 + 2] + 123.68, double(label * scale), 2);
    labels.push_back(label);
  }
  return labels;
}

int ExitCode(const std::string& arguments) {
  return std::system(("apps/convert_imagenet/convert_imagenet " + arguments + " > /dev/null 2>&1")
                         .c_str()) >>
         8;
}

TEST(ConvertImagenetTest, RecordFilesBecomeNpzFilesOfTheSameName) {
  for (const int threads : {1, 2}) {
    SetNumThreads(threads);
    const std::string output = Output();
    const std::string log = Converted({.input = Input(), .output = output});
    EXPECT_THAT(log, HasSubstr("train-00000-of-00002.npz: 2 images ("));
    EXPECT_THAT(log, HasSubstr("3 files with 4 images written to " + output +
                               ", 0 files were there already\n"));
    EXPECT_THAT(Labels(output, Split::kTrain), ElementsAre(7, 100, 30));
    EXPECT_THAT(Labels(output, Split::kTest), ElementsAre(50));
  }
}

// Training reads the files; predictions, served or not, read images as the data set describes them.
TEST(ConvertImagenetTest, PredictionsSeeWhatTrainingSaw) {
  // Sides whose crops are rounded up and down, and those of a JPEG that is decoded at half of them.
  const std::vector<std::pair<int, int>> extents = {
      {375, 500}, {333, 271}, {140, 140}, {1024, 1150}};
  Bytes records;
  std::vector<Bytes> jpegs;
  for (const auto& [height, width] : extents) {
    jpegs.push_back(
        testing::EncodeJpeg(height, width, testing::SmoothPixels(height, width, 3, height)));
    const Bytes record = TfRecordBytes(ImageExampleBytes({jpegs.back(), 1}));
    records.insert(records.end(), record.begin(), record.end());
  }
  const std::string input = testing::NewFolder("convert_input"), output = Output();
  WriteFile(input, "train-00000-of-00001", records);
  Converted({.input = input, .output = output});
  for (const bool whole : {false, true}) {
    const auto imagenet = OpenImagenetNpz({.train = output, .whole = whole}).value();
    const ImageExtents sample = imagenet->sample();
    const int64_t n = imagenet->size(Split::kTrain);
    ASSERT_EQ(n, int64_t(extents.size()));
    const Shape shape = {n, sample.height, sample.width, 3};
    const Tensor trained = Tensor::Zeros(DType::kFloat32, shape).value();
    const Tensor predicted = Tensor::Zeros(DType::kFloat32, shape).value();
    const Tensor targets = Tensor::Zeros(DType::kInt32, Shape{n}).value();
    ASSERT_TRUE(
        imagenet->Read(Split::kTrain, AllIndices(n), TensorFormat::kNHWC, trained, targets).ok());
    const auto images =
        ImageInput::Create(imagenet->preprocessing(), sample, TensorFormat::kNHWC).value();
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_TRUE(images.Decode(jpegs[size_t(i)], "jpeg", predicted, i).ok());
      int64_t differ = 0;
      const int64_t values = sample.height * sample.width * 3;
      for (int64_t at = i * values; at < (i + 1) * values; ++at) {
        differ += trained.data<float>()[at] != predicted.data<float>()[at];
      }
      EXPECT_EQ(differ, 0) << extents[size_t(i)].first << " x " << extents[size_t(i)].second;
    }
  }
}

TEST(ConvertImagenetTest, GoesOnWhereItWasStopped) {
  const std::string input = Input(), output = Output();
  Converted({.input = input, .output = output, .stored = true});
  std::filesystem::remove(output + "/train-00000-of-00002.npz");
  EXPECT_THAT(
      Converted({.input = input, .output = output}),
      HasSubstr("1 file with 2 images written to " + output + ", 2 files were there already\n"));
  EXPECT_THAT(Labels(output, Split::kTrain), ElementsAre(7, 100, 30));
}

TEST(ConvertImagenetTest, FilesOfOthersAreRefusedBeforeAnyIsWritten) {
  const std::string input = Input();
  for (const auto& [name, why] :
       {std::pair("train-00001-of-00002.npz", ": is not a file of ImageNet's images"),
        std::pair("train-00005-of-01024.npz", ": is of another conversion"),
        std::pair("validation-9.npz", ": is of another conversion")}) {
    const std::string output = Output();
    std::filesystem::create_directories(output);
    const std::string path = WriteFile(output, name, Bytes{'P', 'K'});
    EXPECT_THAT(Error({.input = input, .output = output}), HasSubstr(path + why));
    EXPECT_FALSE(std::filesystem::exists(output + "/train-00000-of-00002.npz"));
    EXPECT_EQ(std::filesystem::file_size(path), 2u);
  }
}

TEST(ConvertImagenetTest, PartsAreChosen) {
  const std::string output = Output();
  EXPECT_THAT(Converted({.input = Input(), .output = output, .part = "validation"}),
              HasSubstr("1 file with 1 image written"));
  EXPECT_FALSE(std::filesystem::exists(output + "/train-00000-of-00002.npz"));
}

TEST(ConvertImagenetTest, DamagedRecordsAreNamedAndLeaveNoFile) {
  const std::string input = Input(), output = Output();
  Bytes records = Records({1, 2});
  records.erase(records.end() - 3, records.end());
  const std::string path = WriteFile(input, "train-00000-of-00002", records);
  EXPECT_EQ(Error({.input = input, .output = output}),
            path + ", record 1: the file ends inside it; is the download complete?");
  EXPECT_FALSE(std::filesystem::exists(output + "/train-00000-of-00002.npz"));
  WriteFile(input, "train-00000-of-00002",
            TfRecordBytes(ImageExampleBytes({FlatJpeg(8, 8, {1, 1, 1}), 1001})));
  EXPECT_EQ(Error({.input = input, .output = output}),
            path + ", record 0: its class is 1001, expected 1 to 1000");
}

TEST(ConvertImagenetTest, TwoInputsOfOneOutputAreRefused) {
  const std::string input = Input(), output = Output();
  std::filesystem::create_directories(input + "/train");
  WriteFile(input + "/train", "train-00001-of-00002", Records({31}));
  EXPECT_EQ(Error({.input = input, .output = output}),
            input + "/train-00001-of-00002 and " + input +
                "/train/train-00001-of-00002: both would become train-00001-of-00002.npz; remove "
                "one of them");
  EXPECT_FALSE(std::filesystem::exists(output));
  std::filesystem::remove(input + "/train-00001-of-00002");
  EXPECT_THAT(Converted({.input = input, .output = output}), HasSubstr("3 files with 4 images"))
      << "some in one folder, some in the other";
}

TEST(ConvertImagenetTest, FilesMadeFromOtherInputAreRefused) {
  const std::string archives = testing::NewFolder("convert_archives"), records = Input();
  std::vector<testing::Member> images;
  for (const char* const name : {"0.JPEG", "1.JPEG", "2.JPEG"}) {
    images.push_back({name, FlatJpeg(16, 20, {60, 0, 0})});
  }
  const Bytes tar = TarBytes({{"n01.tar", TarBytes(images)}});
  WriteFile(archives, "ILSVRC2012_img_train.tar", tar);
  const auto bytes = [](const std::string& file) {
    return std::to_string(std::filesystem::file_size(file)) + " bytes";
  };
  const auto from = [](const std::string& input, const std::string& output) -> ConvertOptions {
    return {.input = input, .output = output, .part = "train", .train_files = 2};
  };
  const std::string output = Output(), first = output + "/train-00000-of-00002.npz";
  Converted(from(archives, output));
  EXPECT_THAT(Converted(from(archives, output)), HasSubstr("2 files were there already"));
  const std::string record = bytes(records + "/train-00000-of-00002");
  EXPECT_EQ(Error(from(records, output)),
            first + ": was made from ILSVRC2012_img_train.tar of " + std::to_string(tar.size()) +
                " bytes, 1 of its 3 images from 0 on, shuffled; now it would be from a TFRecord "
                "file of " +
                record + ". It is of another conversion: delete it, or choose another folder");
  // Other files with the same names.
  const std::string other = Output();
  Converted(from(records, other));
  WriteFile(records, "train-00000-of-00002", Records({7, 100, 30}));
  EXPECT_THAT(Error(from(records, other)),
              HasSubstr("/train-00000-of-00002.npz: was made from a TFRecord file of " + record));
  // A file that another program wrote.
  const Tensor x = Tensor::Zeros(DType::kUint8, Shape{1, 3, 227, 227}).value();
  const Tensor y = Tensor::Zeros(DType::kInt32, Shape{1, 1}).value();
  ASSERT_TRUE(WriteNpz(first, {{"x", x}, {"y", y}}).ok());
  EXPECT_THAT(Error(from(archives, output)),
              HasSubstr(first + ": does not say what it was made from; now it would be from "));
}

TEST(ConvertImagenetTest, ArchivesAreShuffledAndDivided) {
  const std::string input = testing::NewFolder("convert_archives"), output = Output();
  const auto images = [](uint8_t label, int count) {
    std::vector<testing::Member> members;
    for (int i = 0; i < count; ++i) {
      members.push_back(
          {std::to_string(i) + ".JPEG", FlatJpeg(16, 20, {uint8_t(60 * label), 0, 0})});
    }
    return TarBytes(members);
  };
  WriteFile(input, "ILSVRC2012_img_train.tar",
            TarBytes({{"n02.tar", images(2, 4)}, {"n01.tar", images(1, 3)}}));
  const std::vector<int> in_order = {2, 1, 1, 2, 1, 2, 2, 1};
  std::vector<testing::Member> members;
  Bytes truth;  // by the numbers of the synsets
  for (const int label : in_order) {
    members.push_back(
        {std::to_string(members.size()) + ".JPEG", FlatJpeg(16, 20, {uint8_t(60 * label), 0, 0})});
    truth.insert(truth.end(), {uint8_t(label == 2 ? '1' : '2'), '\n'});
  }
  WriteFile(input, "ILSVRC2012_img_val.tar", TarBytes(members));
  std::filesystem::create_directories(input + "/ILSVRC2012_devkit_t12/data");
  WriteFile(input + "/ILSVRC2012_devkit_t12/data", "meta.mat",
            testing::SynsetBytes({{1, "n02", "b"}, {2, "n01", "a"}}));
  WriteFile(input + "/ILSVRC2012_devkit_t12/data", "ILSVRC2012_validation_ground_truth.txt", truth);
  Converted({.input = input, .output = output, .train_files = 2, .validation_files = 1});
  EXPECT_TRUE(std::filesystem::exists(output + "/train-00001-of-00002.npz"));
  const std::vector<int> labels = Labels(output, Split::kTrain, 60);
  EXPECT_THAT(labels, UnorderedElementsAre(1, 1, 1, 2, 2, 2, 2));
  EXPECT_FALSE(std::is_sorted(labels.begin(), labels.end()));
  EXPECT_EQ(Labels(output, Split::kTest, 60), in_order);
  // As the program does.
  const std::string program = testing::NewFolder("convert_program");
  ASSERT_EQ(ExitCode("--input=" + input + " --output=" + program +
                     " --train-files=2 --validation-files=3 --stored"),
            0);
  EXPECT_THAT(FilesIn(program).value(),
              ElementsAre("train-00000-of-00002.npz", "train-00001-of-00002.npz",
                          "validation-00000-of-00003.npz", "validation-00001-of-00003.npz",
                          "validation-00002-of-00003.npz"));
  EXPECT_EQ(Labels(program, Split::kTrain, 60), labels);
  EXPECT_EQ(Labels(program, Split::kTest, 60), in_order);
  EXPECT_GT(std::filesystem::file_size(program + "/train-00000-of-00002.npz"),
            2 * std::filesystem::file_size(output + "/train-00000-of-00002.npz"))
      << "images of one colour compress well";
  ASSERT_EQ(ExitCode("--input=" + input + " --output=" + program + "/part --part=validation " +
                     "--validation-files=1"),
            0);
  EXPECT_THAT(FilesIn(program + "/part").value(), ElementsAre("validation-00000-of-00001.npz"));
  // Then from archives with other images.
  WriteFile(input, "ILSVRC2012_img_train.tar",
            TarBytes({{"n02.tar", images(2, 4)}, {"n01.tar", images(1, 5)}}));
  EXPECT_THAT(Error({.input = input, .output = output, .train_files = 2, .validation_files = 1}),
              HasSubstr("train-00000-of-00002.npz: was made from ILSVRC2012_img_train.tar of "));
  // One archive is enough for its part.
  const std::string train = Output();
  EXPECT_THAT(Converted({.input = input, .output = train, .part = "train", .train_files = 2}),
              HasSubstr("2 files with 9 images written"));
  std::filesystem::remove(input + "/ILSVRC2012_img_train.tar");
  const std::string validation = Output();
  EXPECT_THAT(Converted({.input = input, .output = validation, .validation_files = 1}),
              HasSubstr("1 file with 8 images written"));
  EXPECT_THAT(Error({.input = input, .output = validation, .part = "train"}),
              HasSubstr("contains neither TFRecord files"));
}

TEST(ConvertImagenetTest, WrongUseIsSaid) {
  std::ostringstream out;
  EXPECT_EQ(ExitCodeOf(ConvertImagenet({}, out)), kExitUsage);
  EXPECT_EQ(Error({.input = "/nowhere", .output = "x"}), "--input: /nowhere: no such folder");
  EXPECT_EQ(ExitCodeOf(ConvertImagenet({.input = "/nowhere", .output = "x"}, out)), kExitFailed);
  EXPECT_THAT(Error({.input = Input(), .output = Output(), .part = "test"}),
              HasSubstr("expected all, train or validation"));
  const std::string output = testing::NewFolder("none") + "/output";
  EXPECT_THAT(Error({.input = testing::NewFolder("empty"), .output = output}),
              HasSubstr("contains neither TFRecord files"));
  EXPECT_FALSE(std::filesystem::exists(output));
}

TEST(ConvertImagenetTest, ProgramAnswersWithExitCodes) {
  EXPECT_EQ(ExitCode("--help"), 0);
  EXPECT_EQ(ExitCode(""), 2);
  EXPECT_EQ(ExitCode("--inptu=x"), 2);
  EXPECT_EQ(ExitCode("--input=" + testing::NewFolder("empty") + " --output=" + Output()), 1);
  EXPECT_EQ(ExitCode("--input=" + Input() + " --output=" + Output()), 0);
}

}  // namespace
}  // namespace dtnn
