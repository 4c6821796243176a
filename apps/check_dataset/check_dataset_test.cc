#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "apps/check_dataset/expected_files.h"
#include "apps/check_dataset/run.h"
#include "comm/ranks/job/exit_code.h"
#include "data/loading/open_dataset.h"
#include "data/testing/archives.h"
#include "data/testing/idx_files.h"
#include "data/testing/image_files.h"
#include "data/testing/mask_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/npz.h"

namespace dtnn {
namespace {

using testing::Bytes;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::WriteFile;

TEST(CheckDatasetTest, TheFilesOfEveryDataSetAreKnown) {
  const std::string folder = testing::NewFolder("check_every");
  for (const std::string_view name : DatasetNames()) {
    const absl::StatusOr<FilesReport> report = CheckFiles(name, folder, /*large_files=*/false);
    EXPECT_TRUE(report.ok()) << report.status();
  }
}

struct Outcome {
  absl::Status status;
  std::string text;  // with the error after it
};

Outcome Check(const std::string& dataset, const std::string& path, bool read = false) {
  std::ostringstream out;
  const absl::Status status = CheckDataset({.dataset = dataset, .path = path, .read = read}, out);
  return {status, out.str() + std::string(status.message())};
}

std::string Mnist() {
  const std::string folder = testing::NewFolder("check_mnist");
  WriteFile(folder, "train-images-idx3-ubyte", testing::IdxBytes({3, 2, 2}, testing::Elements(12)));
  WriteFile(folder, "train-labels-idx1-ubyte", testing::IdxBytes({3}, Bytes{1, 2, 3}));
  WriteFile(folder, "t10k-images.idx3-ubyte.gz",
            testing::Gzip(testing::IdxBytes({1, 2, 2}, testing::Elements(4))));
  WriteFile(folder, "t10k-labels-idx1-ubyte", testing::IdxBytes({1}, Bytes{1}));
  return folder;
}

TEST(CheckDatasetTest, OtherFilesInTheFormOfMnistAreFine) {
  const Outcome outcome = Check("mnist", Mnist(), true);
  EXPECT_TRUE(outcome.status.ok()) << outcome.text;
  EXPECT_THAT(outcome.text,
              HasSubstr("train-images-idx3-ubyte          found: unknown file of 28 bytes, MD5 "));
  EXPECT_THAT(outcome.text, HasSubstr("t10k-images.idx3-ubyte.gz        found"));
  EXPECT_THAT(
      outcome.text,
      HasSubstr("train split: 3 samples of 1 x 2 x 2 (channels, height, width), 10 "
                "classes\n  samples per class: 0: 0, 1: 1, 2: 1, 3: 1, 4: 0, 5: 0, 6: 0, 7: "
                "0, 8: 0, 9: 0\n  all of them can be read\n"));
  EXPECT_THAT(outcome.text, HasSubstr("warning: mnist: 7 of 10 classes have no training samples: "
                                      "0, 4, 5, 6, 7, 8, 9\n"));
}

TEST(CheckDatasetTest, MissingFilesAreNamedWithWhereToGetThem) {
  const std::string folder = Mnist();
  std::filesystem::remove(folder + "/train-labels-idx1-ubyte");
  const Outcome outcome = Check("mnist", folder);
  EXPECT_EQ(ExitCodeOf(outcome.status), kExitFailed);
  EXPECT_THAT(outcome.text, HasSubstr("  train-labels-idx1-ubyte          missing\n"));
  EXPECT_THAT(outcome.text, HasSubstr("sudo apt-get install dataset-fashion-mnist"));
  EXPECT_THAT(outcome.text, HasSubstr("mnist: 1 of 4 files is missing or wrong"));
}

// A file of `size` bytes without taking that much room.
void WriteSparse(const std::string& path, uint64_t size) {
  std::ofstream(path).put('x');
  std::filesystem::resize_file(path, size);
}

TEST(CheckDatasetTest, SizesAndSumsOfFixedFilesAreCompared) {
  const std::string root = testing::NewFolder("check_cifar10");
  const std::string folder = root + "/cifar-10-batches-bin";
  std::filesystem::create_directories(folder);
  WriteSparse(folder + "/data_batch_1.bin", 30730000);
  WriteSparse(folder + "/data_batch_2.bin", 3073);
  const Outcome outcome = Check("cifar10", root);
  EXPECT_THAT(outcome.text, HasSubstr("data_batch_1.bin                 wrong checksum: MD5 "));
  EXPECT_THAT(outcome.text,
              HasSubstr(", expected 5dd7e06a14cb22eb9f671a540d1b7c25; download it again"));
  EXPECT_THAT(outcome.text, HasSubstr("data_batch_2.bin                 wrong size: 3073 bytes, "
                                      "expected 30730000; is the download complete?"));
  EXPECT_THAT(outcome.text, HasSubstr("test_batch.bin                   missing"));
  EXPECT_THAT(outcome.text, HasSubstr("cifar10: 6 of 6 files"));
}

TEST(CheckDatasetTest, WhereNoSumsAreKnownSizesAreComparedIfTheyAre) {
  const std::string root = testing::NewFolder("check_sizes");
  WriteSparse(root + "/data_batch_1.bin", 80010000);
  WriteSparse(root + "/test_batch.bin", 80009999);
  const std::string cyclone = Check("cyclone", root).text;
  EXPECT_THAT(cyclone, HasSubstr("test_batch.bin                   wrong size: 80009999 bytes, "
                                 "expected 80010000"));
  EXPECT_THAT(cyclone, Not(HasSubstr("data_batch_1.bin                 wrong")));
  const std::string tsunamis = Check("tsunamis", root).text;
  EXPECT_THAT(tsunamis, Not(HasSubstr("wrong")));
  EXPECT_THAT(tsunamis, Not(HasSubstr("missing")));
}

TEST(CheckDatasetTest, MembersOfArchivesAreCheckedInPlace) {
  const std::string root = testing::NewFolder("check_archive");
  const std::string path = WriteFile(
      root, "cifar-10-binary.tar.gz",
      testing::Gzip(testing::TarBytes({{"cifar-10-batches-bin/data_batch_1.bin", Bytes(7)}})));
  for (const std::string& place : {root, path}) {
    const Outcome outcome = Check("cifar10", place);
    EXPECT_THAT(outcome.text, HasSubstr("data_batch_1.bin                 wrong size: 7 bytes"));
    EXPECT_THAT(outcome.text,
                HasSubstr("data_batch_2.bin                 missing: not in " + path));
  }
  WriteFile(root, "cifar-10-binary.tar.gz", Bytes{0x1f, 0x8b, 8, 0, 1});
  EXPECT_THAT(Check("cifar10", root).text,
              HasSubstr("data_batch_1.bin                 unreadable: "));
}

TEST(CheckDatasetTest, AnArchiveThatEndsEarlySaysWhatWasFoundBefore) {
  const std::string root = testing::NewFolder("check_short_archive");
  Bytes archive = testing::TarBytes({{"cifar-10-batches-bin/data_batch_1.bin", Bytes(7)},
                                     {"cifar-10-batches-bin/data_batch_2.bin", Bytes(2000)}});
  archive.resize(512 + 512 + 512 + 700);  // in the second member
  WriteFile(root, "cifar-10-binary.tar.gz", testing::Gzip(archive));
  const std::string text = Check("cifar10", root).text;
  EXPECT_THAT(text, HasSubstr("data_batch_1.bin                 wrong size: 7 bytes"));
  EXPECT_THAT(text, HasSubstr("data_batch_2.bin                 unreadable: "));
  EXPECT_THAT(text, HasSubstr("data_batch_3.bin                 unreadable: "));
}

TEST(CheckDatasetTest, LargeFilesAreOnlySummedWhenAsked) {
  const std::string root = testing::NewFolder("check_imagenet");
  WriteSparse(root + "/ILSVRC2012_img_val.tar", 6744924160);
  const std::string text = Check("imagenet", root).text;
  EXPECT_THAT(
      text,
      HasSubstr("ILSVRC2012_img_val.tar           found: the size is right; --read also compares"));
  EXPECT_THAT(text, HasSubstr("ILSVRC2012_img_train.tar         missing"));
  std::filesystem::remove(root + "/ILSVRC2012_img_val.tar");
  WriteFile(root, "train-0.npz", Bytes{1});
  EXPECT_THAT(Check("imagenet", root).text, Not(HasSubstr("missing")));
}

TEST(CheckDatasetTest, EveryBadSampleIsNamed) {
  const std::string root = testing::NewFolder("check_folder");
  for (const char* part : {"/train/a", "/test/a"}) {
    std::filesystem::create_directories(root + part);
    for (int i = 0; i < 30; ++i) {
      WriteFile(root + part, std::to_string(100 + i) + ".jpg",
                testing::FlatJpeg(4 + i, 4, {1, 2, 3}));
    }
  }
  const Outcome good = Check("folder", root, true);
  EXPECT_TRUE(good.status.ok()) << good.text;
  EXPECT_THAT(good.text,
              HasSubstr("train split: 30 samples, images of 3 channels, 1 class\n  samples per "
                        "class: a: 30\n  their sizes "
                        "differ, from 4 x 4 to 33 x 4 (height x width): --transform-resize resizes "
                        "them to one size\n  all of them can be read\n"));
  for (int i = 3; i < 28; ++i) {
    WriteFile(root + "/train/a", std::to_string(100 + i) + ".jpg", Bytes{1});
  }
  EXPECT_TRUE(Check("folder", root).status.ok());
  const Outcome outcome = Check("folder", root, true);
  for (int i = 3; i < 28; ++i) {
    EXPECT_THAT(outcome.text,
                HasSubstr(StrCat("/train/a/", 100 + i,
                                 ".jpg: is neither a JPEG nor a PNG image: it starts with 01\n")));
  }
  EXPECT_THAT(outcome.text, HasSubstr("folder: 25 samples cannot be read"));
}

TEST(CheckDatasetTest, OfFoldersTheRealSizesAndEmptyClassesAreNamed) {
  const std::string root = testing::NewFolder("check_folder_facts");
  for (const char* place : {"/train/a", "/train/b/c", "/train/none", "/test/a"}) {
    std::filesystem::create_directories(root + place);
    if (std::string(place) == "/train/none") continue;
    for (const char* name : {"1", "2"}) {
      WriteFile(root + place, name, testing::FlatJpeg(12, 30, {1, 2, 3}));
    }
  }
  const std::string facts = Check("folder", root).text, all = Check("folder", root, true).text;
  EXPECT_THAT(
      facts,
      HasSubstr(
          "train split: 4 samples, images of 3 channels, 3 classes\n  samples per "
          "class: a: 2, b: 2, none: 0\n  the first is 12 x 30 (height x width); --read checks all "
          "of "
          "them\ntest split: 2 samples, images of 3 channels, 3 classes\n  samples per class: "
          "a: 2, b: 0, none: 0\n"));
  EXPECT_THAT(facts, HasSubstr("warning: folder: 1 of 3 classes has no training samples: none\n"));
  EXPECT_THAT(all, HasSubstr("  all are 12 x 30 (height x width)\n  all of them can be read\n"));
  EXPECT_TRUE(Check("folder", root, true).status.ok()) << "all of this is information";
}

TEST(CheckDatasetTest, OfManyClassesTheExtremesAreCounted) {
  const std::string path = testing::NewFolder("check_many") + "/data.npz";
  const Tensor x = Tensor::Zeros(DType::kUint8, Shape{4, 1, 3, 3}).value();
  const Tensor y = Tensor::Zeros(DType::kInt32, Shape{4}).value();
  for (int i = 0; i < 4; ++i) y.data<int32_t>()[i] = i == 3 ? 29 : 7;
  ASSERT_TRUE(WriteNpz(path, {{"x_train", x}, {"y_train", y}}).ok());
  EXPECT_THAT(Check("archive", path).text,
              HasSubstr("  samples per class: from 0 (0) to 3 (7); 28 classes have none\n"));
}

TEST(CheckDatasetTest, TheFoldersOfValidationAreFound) {
  const std::string root = testing::NewFolder("check_val");
  for (const char* place : {"/train/a", "/val/a"}) {
    std::filesystem::create_directories(root + place);
    WriteFile(root + place, "1", testing::FlatJpeg(12, 30, {1, 2, 3}));
  }
  const std::string text = Check("folder", root).text;
  EXPECT_THAT(text, HasSubstr("warning: " + root + ": has no folder test; " + root +
                              "/val is taken as the test split\n"));
  EXPECT_THAT(text, HasSubstr("test split: 1 sample, images of 3 channels, 1 class\n  samples per "
                              "class: a: 1\n  the first is 12 x 30"));
}

TEST(CheckDatasetTest, FilesThatAreNoImagesAreWarnedOfOnce) {
  const std::string root = testing::NewFolder("check_no_images");
  for (const char* part : {"/train/a", "/test/a"}) {
    std::filesystem::create_directories(root + part);
    WriteFile(root + part, "1", testing::FlatJpeg(4, 4, {1, 2, 3}));
    WriteFile(root + part, "Thumbs.db", Bytes{1, 2});
  }
  const Outcome outcome = Check("folder", root, true);
  EXPECT_TRUE(outcome.status.ok()) << outcome.text;
  EXPECT_THAT(outcome.text,
              HasSubstr("warning: 2 files are not JPEG or PNG images and are skipped: " + root +
                        "/train/a/Thumbs.db and 1 more\ntrain split: 1 "));
}

// Images as convert_imagenet writes them, under names that say nothing.
TEST(CheckDatasetTest, ImagenetFilesOfBothPartsAreRefused) {
  const std::string root = testing::NewFolder("check_imagenet_npz");
  const Tensor x = Tensor::Zeros(DType::kUint8, Shape{1, 3, 227, 227}).value();
  const Tensor y = Tensor::Zeros(DType::kInt32, Shape{1, 1}).value();
  y.data<int32_t>()[0] = 1;
  ASSERT_TRUE(WriteNpz(root + "/a.npz", {{"x", x}, {"y", y}}).ok());
  const Outcome outcome = Check("imagenet", root);
  EXPECT_EQ(ExitCodeOf(outcome.status), kExitFailed);
  EXPECT_THAT(outcome.text, HasSubstr("/a.npz: would be both training data and test data"));
}

TEST(CheckDatasetTest, ArchivesAreOpened) {
  const std::string path = testing::NewFolder("check_npz") + "/data.npz";
  const Tensor x = Tensor::Zeros(DType::kUint8, Shape{2, 1, 3, 3}).value();
  const Tensor y = Tensor::Zeros(DType::kInt32, Shape{2}).value();
  ASSERT_TRUE(WriteNpz(path, {{"x_train", x}, {"y_train", y}}).ok());
  EXPECT_THAT(Check("archive", path, true).text, HasSubstr("train split: 2 samples of 1 x 3 x 3"));
  EXPECT_FALSE(Check("archive", path + "x").status.ok());
}

TEST(CheckDatasetTest, WrongUseIsSaid) {
  EXPECT_EQ(
      Check("cifra10", "x").text,
      "--dataset=cifra10: must be one of: mnist, cifar10, imagenet, chestxray, cyclone, tsunamis, "
      "archive, folder, masks, synthetic; did you mean \"cifar10\"?");
  EXPECT_EQ(ExitCodeOf(Check("", "").status), kExitUsage);
  EXPECT_THAT(Check("", "").text, HasSubstr("--dataset: missing"));
  EXPECT_EQ(ExitCodeOf(Check("mnist", "").status), kExitUsage);
  EXPECT_TRUE(Check("synthetic", "").status.ok());
  for (const char* dataset :
       {"mnist", "cifar10", "imagenet", "chestxray", "cyclone", "tsunamis", "archive", "folder"}) {
    EXPECT_EQ(ExitCodeOf(Check(dataset, testing::NewFolder("empty")).status), kExitFailed)
        << dataset;
  }
}

TEST(CheckDatasetTest, RealFashionMnist) {
  const std::string folder = "/usr/share/datasets/fashion-mnist";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << folder << " is missing: sudo apt-get install dataset-fashion-mnist";
  }
  const Outcome outcome = Check("mnist", folder);
  EXPECT_TRUE(outcome.status.ok());
  EXPECT_THAT(outcome.text, HasSubstr("train-images-idx3-ubyte.gz       found: Fashion-MNIST\n"));
  EXPECT_THAT(outcome.text, HasSubstr("t10k-labels-idx1-ubyte.gz        found: Fashion-MNIST\n"));
}

int ExitCode(const std::string& arguments) {
  return std::system(
             ("apps/check_dataset/check_dataset " + arguments + " > /dev/null 2>&1").c_str()) >>
         8;
}

TEST(CheckDatasetTest, ProgramAnswersWithExitCodes) {
  EXPECT_EQ(ExitCode("--help"), 0);
  EXPECT_EQ(ExitCode("--dataset=mnist --dataset_path " + Mnist()), 0);
  EXPECT_EQ(ExitCode("--dataset=mnist --dataset-path=" + testing::NewFolder("empty")), 1);
  EXPECT_EQ(ExitCode("--dataset=mnists"), 2);
}

TEST(CheckDatasetTest, EveryMaskThatDoesNotFitIsNamed) {
  const std::string folder = testing::NewFolder("check_masks");
  testing::WriteMaskFolder(folder, 9, 3, 2);
  Outcome outcome = Check("masks", folder, true);
  EXPECT_TRUE(outcome.status.ok()) << outcome.text;
  EXPECT_THAT(outcome.text,
              HasSubstr("train split: 3 samples, images of 3 channels, 3 classes of pixels\n"
                        "  all are 9 x 9 (height x width)\n  all of them can be read\n"));
  WriteFile(folder + "/train/masks", "1.png", testing::EncodeMask(2, 2, Bytes{0, 1, 2, 0}));
  outcome = Check("masks", folder, true);
  EXPECT_EQ(ExitCodeOf(outcome.status), kExitFailed);
  EXPECT_THAT(outcome.text, HasSubstr(folder + "/train/masks/1.png: has 2 x 2 pixels, but its "
                                               "image, "));
  EXPECT_THAT(outcome.text, HasSubstr("masks: 1 sample cannot be read"));
}

}  // namespace
}  // namespace dtnn
