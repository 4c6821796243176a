#include "data/files/md5.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

Digest Of(std::string_view text) {
  return Md5([&](std::span<uint8_t> to) -> absl::StatusOr<size_t> {
           const size_t count = std::min(to.size(), text.size());
           std::copy_n(text.begin(), count, to.begin());
           text.remove_prefix(count);
           return count;
         })
      .value();
}

// RFC 1321, appendix A.5.
TEST(Md5Test, PublishedValues) {
  EXPECT_EQ(Of("").md5, "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(Of("message digest").md5, "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(Of("message digest").bytes, 14u);
}

TEST(Md5Test, LongTextsAreReadInPieces) {
  const std::string text(1000000, 'a');
  EXPECT_EQ(Of(text).md5, "7707d6ae4e027c70eea2a935c2296f21");
  EXPECT_EQ(Of(text).bytes, 1000000u);
}

TEST(Md5Test, ErrorsOfTheSourceArePassedOn) {
  const auto digest = Md5(
      [](std::span<uint8_t>) -> absl::StatusOr<size_t> { return absl::DataLossError("broken"); });
  EXPECT_EQ(digest.status().message(), "broken");
}

}  // namespace
}  // namespace dtnn
