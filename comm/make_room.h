// Which caller loses its place where more wait to be recognised than have one.
//
// It is one of the callers from the address that has most places, by chance. For a newcomer from
// that address itself only a caller that has been silent for a while counts, up to kSilence, by
// chance again; where there is none, the newcomer is refused, and may call again. So no address can
// keep out the callers of others; those that come do not always win over those that are about to be
// recognised, nor the other way round; and no caller can know when to call so that others lose.

#ifndef DTNN_COMM_MAKE_ROOM_H_
#define DTNN_COMM_MAKE_ROOM_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace dtnn {

struct WaitingCaller {
  std::string_view host;                        // the address that it calls from
  std::chrono::steady_clock::time_point heard;  // when something came from it last
};

// Longer than an answer takes on its way around the world.
inline constexpr std::chrono::milliseconds kSilence(500);

// Its index. The last one is the newcomer; there is at least one. `random`: of 64 bits.
size_t CallerToDrop(std::span<const WaitingCaller> callers,
                    std::chrono::steady_clock::time_point now, uint64_t random);

}  // namespace dtnn

#endif  // DTNN_COMM_MAKE_ROOM_H_
