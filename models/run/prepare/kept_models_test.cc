#include "models/run/prepare/kept_models.h"

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "comm/local.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/parameters/weights.h"
#include "models/zoo/zoo.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::Values;

constexpr int64_t kDate = 20260102;
constexpr char kFirst[] = "model-simplemlp-epoch-1-20260101.npz";

class KeptModelsTest : public ::testing::Test {
 protected:
  static Graph SmallGraph() {
    return BuildModel("simplemlp", {.sample = ImageExtents{2, 2, 1}, .classes = 2}).value();
  }

  std::unique_ptr<ParameterStore> Store(uint64_t seed) {
    return ParameterStore::Create(graph_, *context_, DType::kFloat32, seed).value();
  }

  // Keeps the model of epoch 3 where `previous` was the one before.
  std::string Keep(const std::string& previous, Communicator* ranks = nullptr) {
    return KeepOf(graph_, previous, ranks);
  }
  std::string KeepOf(const Graph& graph, const std::string& previous, Communicator* ranks) {
    const absl::StatusOr<std::string> path =
        KeepModel({.folder = folder_, .date = kDate, .ranks = ranks}, 3, graph, *store_, *context_,
                  other_->all_values(), previous);
    EXPECT_TRUE(path.ok()) << path.status();
    return path.value_or("");
  }

  static std::string Make(const std::string& path) {
    const fs::path file = path;
    fs::create_directories(file.parent_path());
    return testing::WriteFile(file.parent_path(), file.filename().string(), testing::Bytes{1});
  }

  const std::string root_ =
      testing::NewFolder(std::string("kept_models_") +
                         ::testing::UnitTest::GetInstance()->current_test_info()->name());
  const std::string folder_ = root_ + "/models";
  const std::string path_ = folder_ + "/model-simplemlp-epoch-3-20260102.npz";
  const std::unique_ptr<DeviceContext> context_ = DeviceContext::Create(Device::Cpu()).value();
  const Graph graph_ = SmallGraph();
  const std::unique_ptr<ParameterStore> store_ = Store(1), other_ = Store(2);
};

TEST_F(KeptModelsTest, HoldsTheValuesUnderTheNameOfTheEpoch) {
  ASSERT_TRUE(MakeModelFolder(folder_).ok());
  EXPECT_EQ(Keep(""), path_);
  const std::unique_ptr<ParameterStore> loaded = Store(3);
  ASSERT_TRUE(LoadWeights(path_, graph_, *loaded, *context_).ok());
  EXPECT_EQ(Values(loaded->all_values()), Values(other_->all_values()));
  EXPECT_NE(Values(loaded->all_values()), Values(store_->all_values()));
}

TEST_F(KeptModelsTest, OnlyTheModelBeforeItGoes) {
  const std::string before = Make(folder_ + "/" + kFirst);
  const std::string older = Make(folder_ + "/model-simplemlp-epoch-0-20260101.npz");
  Keep(kFirst);
  EXPECT_FALSE(fs::exists(before));
  EXPECT_TRUE(fs::exists(older));
  EXPECT_TRUE(fs::exists(path_));
}

TEST_F(KeptModelsTest, TheSameNameIsWrittenAnew) {
  Make(path_);
  Keep(fs::path(path_).filename().string());
  EXPECT_GT(fs::file_size(path_), 1);
}

TEST_F(KeptModelsTest, FilesOfAnotherRunAreNeitherOverwrittenNorDeleted) {
  Make(path_);
  const std::string second = folder_ + "/model-simplemlp-epoch-3-20260102-2.npz";
  EXPECT_EQ(Keep(kFirst), second);
  EXPECT_EQ(fs::file_size(path_), 1);
  EXPECT_EQ(Keep(fs::path(second).filename().string()), second) << "its own is written anew";
  EXPECT_EQ(Keep(""), folder_ + "/model-simplemlp-epoch-3-20260102-3.npz") << "of a third run";
  EXPECT_EQ(fs::file_size(path_), 1);
  EXPECT_TRUE(fs::exists(second));
}

// A checkpoint may come from anywhere, and names the file to be deleted.
TEST_F(KeptModelsTest, NamesThatLeadElsewhereDeleteNothingThere) {
  const std::string inside = Make(folder_ + "/" + kFirst);
  const std::string begins_right = "model-simplemlp-epoch-1";
  fs::create_directories(folder_ + "/" + begins_right);
  for (const std::string& victim :
       {root_ + "/" + kFirst, folder_ + "/below/" + kFirst, root_ + "/beside/" + kFirst}) {
    Make(victim);
    const std::string relative = fs::relative(victim, folder_);
    for (const std::string& name : {victim, relative, begins_right + "/../" + relative,
                                    victim + "/", victim + "/.", victim + "/../" + kFirst}) {
      Make(inside);
      Keep(name);
      EXPECT_TRUE(fs::exists(victim)) << name;
    }
  }
}

TEST_F(KeptModelsTest, FilesOfOtherNamesStay) {
  const std::vector<std::string> others = {
      "data.npz", "model-simplemlp.npz", "model-simplecnn-epoch-1-20260101.npz",
      "model-simplemlp-epoch-1-20260101.npz.backup", "xmodel-simplemlp-epoch-1-20260101.npz"};
  for (const std::string& name : others) {
    const std::string file = Make(folder_ + "/" + name);
    Keep(name);
    Keep(file);
    EXPECT_TRUE(fs::exists(file)) << name;
  }
  for (const std::string name : {".", "..", "/", "../..", "../models", ""}) {
    Keep(name);
    EXPECT_TRUE(fs::exists(folder_ + "/" + others[0])) << name;
  }
}

TEST_F(KeptModelsTest, OneOfSeveralRanksWritesAndAllKnowTheName) {
  Make(path_);
  EXPECT_EQ(absl::OkStatus(), RunRanks(3, [&](Communicator& ranks) {
              EXPECT_EQ(Keep(kFirst, &ranks), folder_ + "/model-simplemlp-epoch-3-20260102-2.npz");
              return absl::OkStatus();
            }));
  EXPECT_EQ(fs::file_size(path_), 1);
  const fs::directory_iterator files(folder_);
  EXPECT_EQ(std::distance(begin(files), end(files)), 2);
}

TEST_F(KeptModelsTest, AnyTextMayBeTheNameOfTheNetwork) {
  ASSERT_TRUE(MakeModelFolder(folder_).ok());
  const auto keep = [&](const std::string& name, const std::string& previous) {
    const Graph named = Graph::FromNodes(name, graph_.format(), graph_.ToNodes()).value();
    return KeepOf(named, previous, nullptr);
  };
  const std::string before = Make(folder_ + "/model-..-a-b-epoch-1-20260101.npz");
  EXPECT_EQ(keep("../a/b", "model-..-a-b-epoch-1-20260101.npz"),
            folder_ + "/model-..-a-b-epoch-3-20260102.npz");
  EXPECT_FALSE(fs::exists(before));
  std::string letters;
  for (int i = 0; i < 300; ++i) letters += "\u00e9";
  EXPECT_EQ(keep("x" + letters, ""),
            folder_ + "/model-x" + letters.substr(0, 126) + "-epoch-3-20260102.npz");
}

TEST_F(KeptModelsTest, WhatCannotBeWrittenDeletesNothing) {
  const std::string before = Make(folder_ + "/" + kFirst);
  const KeptModels kept = {.folder = folder_, .date = kDate, .tags = {{"tag", "\xff"}}};
  EXPECT_FALSE(KeepModel(kept, 3, graph_, *store_, *context_, other_->all_values(), kFirst).ok());
  EXPECT_TRUE(fs::exists(before));
}

TEST_F(KeptModelsTest, TheFolderIsMadeOrTheFlagNamed) {
  EXPECT_TRUE(MakeModelFolder("").ok());
  EXPECT_EQ(MakeModelFolder(folder_ + "/a").message(),
            "RunOptions::schedule.model_folder=" + folder_ +
                "/a: cannot create the folder: No such file or directory; make " + folder_ +
                " first, or correct the path");
  EXPECT_FALSE(fs::exists(folder_)) << "those above it are not made";
  EXPECT_TRUE(MakeModelFolder(folder_).ok());
  EXPECT_TRUE(fs::is_directory(folder_));
  EXPECT_TRUE(MakeModelFolder(folder_).ok()) << "it may be there";
  EXPECT_THAT(std::string(MakeModelFolder("/dev/null/a").message()),
              HasSubstr("RunOptions::schedule.model_folder=/dev/null/a: "));
}

TEST_F(KeptModelsTest, TodayIsTheDateOfTheCalendar) {
  const auto calendar = [] {
    const std::time_t now = std::time(nullptr);
    char text[16] = {};
    std::strftime(text, sizeof(text), "%Y%m%d", std::localtime(&now));
    return std::stoll(text);
  };
  const int64_t before = calendar(), today = Today(), after = calendar();
  EXPECT_TRUE(today == before || today == after) << today;
}

TEST_F(KeptModelsTest, AFolderThatTakesNoFilesShowsBeforeTheFirstEpoch) {
  EXPECT_TRUE(MakeModelFolder(folder_).ok());
  EXPECT_TRUE(fs::is_empty(folder_));
  // It is there, and takes none, even from root.
  EXPECT_THAT(
      std::string(MakeModelFolder("/proc/self").message()),
      HasSubstr("RunOptions::schedule.model_folder=/proc/self: cannot write models there: "));
}

}  // namespace
}  // namespace dtnn
