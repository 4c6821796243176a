// Any bytes as what an aggregator and its clients read from each other. The first byte says which
// message; one that is taken must be the same when it is written and read again.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "comm/federation/frame.h"
#include "comm/federation/identity/identity.h"
#include "comm/federation/messages.h"

namespace {

using namespace dtnn::federation;

void Check(bool holds) {
  if (!holds) std::abort();
}

template <typename Message>
void Again(const absl::StatusOr<Message>& message,
           absl::StatusOr<Message> (*read)(std::span<const uint8_t>)) {
  if (!message.ok()) return;
  const Bytes written = ToBytes(*message);
  const absl::StatusOr<Message> again = read(written);
  Check(again.ok() && ToBytes(*again) == written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::span<const uint8_t> bytes(data + 1, size - 1);
  switch (data[0] % 12) {
    case 0:
      Again(HelloFromBytes(bytes), HelloFromBytes);
      break;
    case 1:
      Again(WelcomeFromBytes(bytes), WelcomeFromBytes);
      break;
    case 2:
      Again(RoundStartFromBytes(bytes), RoundStartFromBytes);
      break;
    case 3:
      Again(ReportFromBytes(bytes), ReportFromBytes);
      break;
    case 4:
      Again(VerdictFromBytes(bytes), VerdictFromBytes);
      break;
    case 5:
      Check(TextFromBytes(bytes).find('\n') == std::string::npos);
      break;
    case 6: {
      const auto list = ListFromBytes(bytes, 5);
      if (list.ok()) Check(list->size() <= 5 && std::ranges::equal(ListToBytes(*list), bytes));
      break;
    }
    case 7:
      if (bytes.size() < kFrameHeaderBytes) break;
      {
        const auto header = ParseFrameHeader(bytes.first<kFrameHeaderBytes>());
        if (header.ok()) {
          Check(std::ranges::equal(ToBytes(*header), bytes.first(kFrameHeaderBytes)));
        }
      }
      break;
    case 8:
      Again(ClassesFromBytes(bytes), ClassesFromBytes);
      break;
    case 9:
      Again(IntroductionFromBytes(bytes), IntroductionFromBytes);
      break;
    case 10:
      Again(ChallengeFromBytes(bytes), ChallengeFromBytes);
      break;
    case 11:
      Again(GroupSizeFromBytes(bytes), GroupSizeFromBytes);
      break;
  }
  return 0;
}
