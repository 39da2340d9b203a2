// The pen strokes of the ten digits, several handwritings for each, as curves in the unit square (x
// to the right, y down). Included only by digits.cc.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace limpid::digit_skeletons {

// What the pen does at a point: start a stroke, pass smoothly, or turn sharply.
enum class Joint : unsigned char { kStart, kPass, kTurn };

struct Node {
  float x;
  float y;
  Joint joint;
};

constexpr Node start(float x, float y) { return {x, y, Joint::kStart}; }
constexpr Node pass(float x, float y) { return {x, y, Joint::kPass}; }
constexpr Node turn(float x, float y) { return {x, y, Joint::kTurn}; }

using Skeleton = std::span<const Node>;

// 0: round; narrow; open at the top, the end beyond the beginning; low and wide.
inline constexpr std::array kZeroRound = {start(.52f, .03f), pass(.24f, .14f), pass(.10f, .50f),
                                          pass(.22f, .84f),  pass(.50f, .97f), pass(.78f, .84f),
                                          pass(.90f, .48f),  pass(.78f, .15f), pass(.50f, .03f)};
inline constexpr std::array kZeroNarrow = {
    start(.60f, .04f), pass(.38f, .16f), pass(.26f, .52f), pass(.32f, .86f), pass(.48f, .97f),
    pass(.66f, .84f),  pass(.74f, .48f), pass(.68f, .16f), pass(.52f, .04f), pass(.40f, .12f)};
inline constexpr std::array kZeroOpen = {
    start(.40f, .08f), pass(.18f, .28f), pass(.12f, .60f), pass(.28f, .92f), pass(.58f, .95f),
    pass(.84f, .72f),  pass(.86f, .36f), pass(.66f, .08f), pass(.44f, .04f), pass(.30f, .16f)};
inline constexpr std::array kZeroFlat = {start(.30f, .18f), pass(.08f, .50f), pass(.24f, .84f),
                                         pass(.60f, .90f),  pass(.92f, .62f), pass(.86f, .26f),
                                         pass(.54f, .10f),  pass(.26f, .24f)};

// 1: a line; with a flag; with a flag and a foot; a bent line.
inline constexpr std::array kOneLine = {start(.54f, .02f), pass(.51f, .50f), pass(.48f, .98f)};
inline constexpr std::array kOneFlag = {start(.36f, .22f), pass(.46f, .14f), turn(.56f, .02f),
                                        pass(.54f, .50f), pass(.52f, .98f)};
inline constexpr std::array kOneFoot = {start(.32f, .22f), turn(.54f, .03f),  pass(.53f, .50f),
                                        pass(.52f, .95f),  start(.26f, .96f), pass(.52f, .95f),
                                        pass(.80f, .94f)};
inline constexpr std::array kOneBent = {start(.46f, .02f), pass(.56f, .34f), pass(.54f, .70f),
                                        pass(.44f, .98f)};

// 2: a sharp foot; a loop in the foot; wide; angular, like a z.
inline constexpr std::array kTwoSharp = {start(.16f, .24f), pass(.34f, .06f), pass(.66f, .07f),
                                         pass(.78f, .28f),  pass(.58f, .60f), turn(.12f, .95f),
                                         pass(.48f, .92f),  pass(.90f, .94f)};
inline constexpr std::array kTwoLoop = {start(.18f, .20f), pass(.40f, .03f), pass(.70f, .10f),
                                        pass(.74f, .36f),  pass(.52f, .70f), pass(.26f, .93f),
                                        pass(.10f, .88f),  pass(.20f, .76f), pass(.44f, .84f),
                                        pass(.68f, .95f),  pass(.92f, .86f)};
inline constexpr std::array kTwoWide = {start(.10f, .30f), pass(.22f, .08f), pass(.56f, .04f),
                                        pass(.74f, .22f),  pass(.60f, .48f), pass(.36f, .72f),
                                        turn(.14f, .90f),  pass(.60f, .88f), pass(.96f, .80f)};
inline constexpr std::array kTwoAngular = {start(.18f, .10f), pass(.50f, .05f), turn(.80f, .10f),
                                           pass(.50f, .50f),  turn(.16f, .92f), pass(.88f, .90f)};

// 3: two bows; a flat top; a small loop in the middle; slim.
inline constexpr std::array kThreeBows = {start(.18f, .14f), pass(.46f, .02f), pass(.76f, .14f),
                                          pass(.68f, .38f),  turn(.38f, .47f), pass(.70f, .54f),
                                          pass(.84f, .75f),  pass(.58f, .96f), pass(.14f, .88f)};
inline constexpr std::array kThreeFlat = {start(.16f, .06f), turn(.80f, .05f), turn(.42f, .40f),
                                          pass(.74f, .50f),  pass(.82f, .74f), pass(.56f, .96f),
                                          pass(.16f, .90f)};
inline constexpr std::array kThreeLoop = {
    start(.22f, .10f), pass(.52f, .03f), pass(.76f, .18f), pass(.60f, .40f), pass(.38f, .48f),
    pass(.42f, .41f),  pass(.68f, .50f), pass(.80f, .74f), pass(.54f, .97f), pass(.18f, .92f)};
inline constexpr std::array kThreeSlim = {start(.34f, .06f), pass(.60f, .06f), pass(.62f, .28f),
                                          pass(.44f, .46f),  pass(.64f, .66f), pass(.54f, .94f),
                                          pass(.28f, .96f)};

// 4: open at the top; closed; open, with a round corner; in one line.
inline constexpr std::array kFourOpen = {start(.22f, .06f), pass(.18f, .32f), turn(.14f, .56f),
                                         pass(.50f, .55f),  pass(.90f, .50f), start(.72f, .04f),
                                         pass(.68f, .50f),  pass(.62f, .98f)};
inline constexpr std::array kFourClosed = {start(.62f, .03f), pass(.38f, .32f), turn(.08f, .64f),
                                           pass(.50f, .65f),  pass(.94f, .62f), start(.62f, .03f),
                                           pass(.62f, .50f),  pass(.60f, .98f)};
inline constexpr std::array kFourRound = {start(.18f, .04f), pass(.12f, .34f), pass(.26f, .54f),
                                          pass(.56f, .50f),  turn(.80f, .30f), start(.86f, .04f),
                                          pass(.78f, .40f),  pass(.72f, .97f)};
inline constexpr std::array kFourOneLine = {start(.30f, .08f), pass(.18f, .34f), pass(.20f, .54f),
                                            pass(.48f, .56f),  pass(.72f, .34f), turn(.80f, .10f),
                                            pass(.74f, .52f),  pass(.66f, .98f)};

// 5: in one stroke; the bar on its own; slim, with a small bow; round, like an s.
inline constexpr std::array kFiveOne = {start(.80f, .05f), turn(.30f, .06f), turn(.22f, .44f),
                                        pass(.54f, .38f),  pass(.80f, .60f), pass(.66f, .90f),
                                        pass(.36f, .97f),  pass(.12f, .86f)};
inline constexpr std::array kFiveBar = {start(.32f, .08f), turn(.26f, .42f), pass(.56f, .42f),
                                        pass(.78f, .66f),  pass(.60f, .92f), pass(.16f, .95f),
                                        start(.32f, .08f), pass(.60f, .07f), pass(.90f, .02f)};
inline constexpr std::array kFiveSlim = {start(.86f, .02f), pass(.62f, .06f), turn(.42f, .10f),
                                         pass(.36f, .42f),  pass(.58f, .58f), pass(.60f, .82f),
                                         pass(.36f, .97f),  pass(.14f, .90f)};
inline constexpr std::array kFiveRound = {start(.92f, .10f), pass(.66f, .04f), pass(.36f, .14f),
                                          pass(.30f, .36f),  pass(.56f, .50f), pass(.70f, .70f),
                                          pass(.50f, .94f),  pass(.10f, .92f)};

// 6: a curved back; a straight one; a large bow; a small ring.
inline constexpr std::array kSixCurved = {start(.70f, .04f), pass(.38f, .26f), pass(.18f, .64f),
                                          pass(.34f, .95f),  pass(.66f, .90f), pass(.74f, .66f),
                                          pass(.50f, .55f),  pass(.22f, .74f)};
inline constexpr std::array kSixStraight = {start(.52f, .02f), pass(.36f, .36f), pass(.24f, .74f),
                                            pass(.38f, .97f),  pass(.62f, .90f), pass(.68f, .72f),
                                            pass(.48f, .64f),  pass(.26f, .82f)};
inline constexpr std::array kSixLarge = {start(.62f, .05f), pass(.28f, .22f), pass(.12f, .60f),
                                         pass(.30f, .94f),  pass(.70f, .94f), pass(.88f, .68f),
                                         pass(.64f, .46f),  pass(.30f, .54f), pass(.16f, .72f)};
inline constexpr std::array kSixRing = {start(.76f, .10f), pass(.44f, .22f), pass(.20f, .56f),
                                        pass(.18f, .88f),  pass(.46f, .96f), pass(.64f, .78f),
                                        pass(.50f, .60f),  pass(.28f, .66f), pass(.16f, .86f)};

// 7: plain; with a bar; with a serif and a bent back; steep.
inline constexpr std::array kSevenPlain = {start(.10f, .10f), pass(.46f, .09f), turn(.84f, .06f),
                                           pass(.60f, .48f), pass(.42f, .98f)};
inline constexpr std::array kSevenBar = {start(.12f, .08f), turn(.82f, .08f),  pass(.58f, .46f),
                                         pass(.42f, .98f),  start(.30f, .52f), pass(.76f, .46f)};
inline constexpr std::array kSevenSerif = {start(.10f, .30f), pass(.14f, .12f), pass(.48f, .10f),
                                           pass(.80f, .08f),  pass(.78f, .28f), pass(.64f, .62f),
                                           pass(.58f, .98f)};
inline constexpr std::array kSevenSteep = {start(.24f, .14f), pass(.44f, .06f), turn(.72f, .10f),
                                           pass(.62f, .54f), pass(.54f, .98f)};

// 8: one line that crosses itself, begun at the right, or at the top; two rings; ends that stay
// open.
inline constexpr std::array kEightRight = {start(.76f, .12f), pass(.46f, .03f), pass(.24f, .20f),
                                           pass(.44f, .42f),  pass(.72f, .66f), pass(.66f, .92f),
                                           pass(.36f, .96f),  pass(.22f, .74f), pass(.48f, .48f),
                                           pass(.74f, .26f),  pass(.72f, .10f)};
inline constexpr std::array kEightTop = {start(.54f, .03f), pass(.28f, .12f), pass(.32f, .34f),
                                         pass(.58f, .52f),  pass(.76f, .76f), pass(.52f, .97f),
                                         pass(.24f, .80f),  pass(.42f, .54f), pass(.70f, .30f),
                                         pass(.70f, .10f),  pass(.50f, .03f)};
inline constexpr std::array kEightRings = {start(.50f, .44f), pass(.26f, .30f), pass(.34f, .06f),
                                           pass(.66f, .05f),  pass(.76f, .26f), pass(.52f, .44f),
                                           pass(.22f, .64f),  pass(.26f, .92f), pass(.62f, .97f),
                                           pass(.82f, .74f),  pass(.56f, .46f)};
inline constexpr std::array kEightOpen = {
    start(.82f, .16f), pass(.56f, .10f), pass(.30f, .16f), pass(.34f, .36f), pass(.62f, .58f),
    pass(.62f, .90f),  pass(.38f, .94f), pass(.34f, .68f), pass(.58f, .42f), pass(.86f, .10f)};

// 9: a straight back; a curved one; a bow that stays open; a small bow.
inline constexpr std::array kNineStraight = {start(.74f, .20f), pass(.52f, .04f), pass(.26f, .20f),
                                             pass(.34f, .44f),  pass(.62f, .38f), turn(.76f, .16f),
                                             pass(.72f, .56f),  pass(.66f, .98f)};
inline constexpr std::array kNineCurved = {start(.76f, .18f), pass(.50f, .03f), pass(.20f, .22f),
                                           pass(.32f, .50f),  pass(.62f, .44f), pass(.78f, .20f),
                                           pass(.78f, .56f),  pass(.60f, .90f), pass(.26f, .95f)};
inline constexpr std::array kNineOpen = {start(.66f, .06f), pass(.36f, .10f), pass(.22f, .32f),
                                         pass(.42f, .48f),  pass(.68f, .32f), turn(.76f, .08f),
                                         pass(.66f, .50f),  pass(.52f, .98f)};
inline constexpr std::array kNineSmall = {start(.66f, .14f), pass(.44f, .08f), pass(.32f, .26f),
                                          pass(.46f, .40f),  pass(.66f, .28f), pass(.68f, .12f),
                                          pass(.62f, .54f),  pass(.48f, .98f)};

inline constexpr std::size_t kHands = 4;
inline constexpr std::array<std::array<Skeleton, kHands>, 10> kSkeletons = {{
    {kZeroRound, kZeroNarrow, kZeroOpen, kZeroFlat},
    {kOneLine, kOneFlag, kOneFoot, kOneBent},
    {kTwoSharp, kTwoLoop, kTwoWide, kTwoAngular},
    {kThreeBows, kThreeFlat, kThreeLoop, kThreeSlim},
    {kFourOpen, kFourClosed, kFourRound, kFourOneLine},
    {kFiveOne, kFiveBar, kFiveSlim, kFiveRound},
    {kSixCurved, kSixStraight, kSixLarge, kSixRing},
    {kSevenPlain, kSevenBar, kSevenSerif, kSevenSteep},
    {kEightRight, kEightTop, kEightRings, kEightOpen},
    {kNineStraight, kNineCurved, kNineOpen, kNineSmall},
}};

}  // namespace limpid::digit_skeletons
