#include "models/observe/tensorboard/event_file.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "data/formats/tf_record.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::StartsWith;

std::string Folder(const std::string& name) {
  const std::string folder = ::testing::TempDir() + "/" + name;
  std::filesystem::remove_all(folder);
  return folder;
}

std::vector<tensorboard::Event> Read(const std::string& path) {
  std::vector<tensorboard::Event> events;
  auto reader = TfRecordReader::Open(path);
  EXPECT_TRUE(reader.ok()) << reader.status();
  std::vector<uint8_t> record;
  for (;;) {
    const auto more = reader->Next(record);
    EXPECT_TRUE(more.ok()) << more.status();
    if (!more.ok() || !*more) return events;
    EXPECT_TRUE(events.emplace_back().ParseFromArray(record.data(), int(record.size())));
  }
}

tensorboard::Event Scalar(int64_t step, size_t tag_bytes = 3) {
  tensorboard::Event event;
  event.set_step(step);
  tensorboard::Summary::Value& value = *event.mutable_summary()->add_value();
  value.set_tag(std::string(tag_bytes, 'x'));
  value.set_simple_value(0.5f);
  return event;
}

TEST(EventFileTest, BeginsWithItsVersionAndTheStepOfItsSession) {
  auto file = EventFile::Create(Folder("begins"), 7);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->Add(Scalar(8)).ok());
  const std::vector<tensorboard::Event> events = Read(file->path());
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].file_version(), "brain.Event:2");
  EXPECT_EQ(events[1].session_log().status(), 1);
  EXPECT_EQ(events[1].step(), 7);
  EXPECT_EQ(events[2].step(), 8);
  EXPECT_GT(events[0].wall_time(), 1.6e9);
  EXPECT_LE(events[0].wall_time(), events[2].wall_time());
}

TEST(EventFileTest, LaterFilesSortAfterEarlierOnes) {
  const std::string folder = Folder("sorts");
  std::vector<std::string> names;
  for (int i = 0; i < 4; ++i) {
    auto file = EventFile::Create(folder, i);
    ASSERT_TRUE(file.ok()) << file.status();
    names.push_back(file->path());
  }
  EXPECT_THAT(std::filesystem::path(names[0]).filename().string(),
              StartsWith("events.out.tfevents."));
  EXPECT_TRUE(std::ranges::is_sorted(names));
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 4u);
}

// As on a full disk: the system takes a part of a record.
TEST(EventFileTest, HalfARecordIsCutOffAgain) {
  auto file = EventFile::Create(Folder("full"), 1);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->Add(Scalar(1)).ok());
  const auto size = std::filesystem::file_size(file->path());
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit = {.rlim_cur = size + 100, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const absl::Status full = file->Add(Scalar(2, 1000));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old);
  EXPECT_FALSE(full.ok());
  EXPECT_THAT(std::string(full.message()), StartsWith(file->path() + ": write"));
  EXPECT_EQ(std::filesystem::file_size(file->path()), size);
  ASSERT_TRUE(file->Add(Scalar(3)).ok());
  EXPECT_EQ(Read(file->path()).back().step(), 3);
}

TEST(EventFileTest, WhatIsNoFolderIsAnErrorBefore) {
  const std::string folder = Folder("check");
  EXPECT_TRUE(CheckEventFolder(folder).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder)) << "nothing is left";
  const std::string file = EventFile::Create(folder, 1)->path();
  EXPECT_THAT(std::string(CheckEventFolder(file).message()),
              StartsWith(file + ": is not a folder"));
  EXPECT_FALSE(EventFile::Create(file + "/below", 1).ok());
  EXPECT_FALSE(CheckEventFolder("/proc/no/such").ok());
  EXPECT_FALSE(CheckEventFolder(folder + "/a/b").ok());
  EXPECT_FALSE(std::filesystem::exists(folder + "/a")) << "those above it are not made";
}

}  // namespace
}  // namespace dtnn
