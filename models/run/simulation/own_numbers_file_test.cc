#include "models/run/simulation/own_numbers_file.h"

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Three clients, of which the second has numbers of its own.
LocalParameters Clients(float number, int clients = 3) {
  LocalParameters own(size_t(clients), {0, 0});
  own.Keep(1, {number, -number});
  own.Accept(1);
  own.Keep(2, {7, 7});  // of an update that was not used
  return own;
}

TEST(OwnNumbersFileTest, NumbersOfARoundComeBack) {
  const std::string folder = testing::NewFolder("own");
  for (int round = 1; round <= 4; ++round) {
    ASSERT_EQ(SaveOwnNumbers(folder, round, Clients(float(round) + 0.25f)), absl::OkStatus());
  }
  EXPECT_FALSE(std::filesystem::exists(folder + "/clients-1.npz")) << "three are kept";
  for (const int round : {2, 3, 4}) {
    LocalParameters own(3, {0.5f, 0.5f});
    ASSERT_EQ(LoadOwnNumbers(folder, round, own), absl::OkStatus());
    EXPECT_THAT(own.Begin(0), ElementsAre(0.5f, 0.5f)) << "it begins as all do";
    EXPECT_THAT(own.Begin(1), ElementsAre(float(round) + 0.25f, -float(round) - 0.25f));
    EXPECT_FALSE(own.HasOwn(2));
  }
}

TEST(OwnNumbersFileTest, FilesOfOthersAreRefused) {
  const std::string folder = testing::NewFolder("own_others");
  ASSERT_EQ(SaveOwnNumbers(folder, 4, Clients(1)), absl::OkStatus());
  const auto why = [&](int64_t round, LocalParameters own) {
    const absl::Status status = LoadOwnNumbers(folder, round, own);
    EXPECT_FALSE(own.HasOwn(1));
    return std::string(status.message());
  };
  EXPECT_THAT(why(5, LocalParameters(3, {0, 0})),
              HasSubstr("/clients-5.npz, with what stayed with the clients after round 5; begin a "
                        "new federation in another folder"));
  EXPECT_THAT(why(4, LocalParameters(2, {0, 0})),
              HasSubstr("/clients-4.npz: is not of round 4 of 2 clients"));
  EXPECT_THAT(why(4, LocalParameters(3, {0, 0, 0})),
              HasSubstr("\"client-1\" is not an array of 3 finite numbers; is it damaged?"));
  for (const float number : {NAN, INFINITY}) {
    ASSERT_EQ(SaveOwnNumbers(folder, 4, Clients(number)), absl::OkStatus());
    EXPECT_THAT(why(4, LocalParameters(3, {0, 0})), HasSubstr("of 2 finite numbers"));
  }
}

}  // namespace
}  // namespace dtnn
