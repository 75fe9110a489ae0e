"""The templates of the English stories.

Slots: `A` and `B` are two people, a girl and a boy; `x`, `y`, `w` things; `z`, `v` animals; `Z` the name
of an animal; `p`, `q` places; `s`, `t`, `u` spots; `f`, `g` foods; `r` a fruit; `list`, `things`, `count`
lists; `n`, `less` a number and the one before; `song` made-up words; `m` a message; `why`, `then` how
somebody was and what they did about it.
"""

from __future__ import annotations

OPENINGS = (
    "[One day|One morning|One evening|One sunny day|Once upon a time|On {day}|Last summer|In"
    " spring|In winter], ",
    "Once upon a time, there [was a {A.girl} named {A}|were two friends, {A} and {B}]. [One day|On {day}], ",
    "There was [once |]a {mood} {A.girl} named {A}. [{A.she} lived {q}. |{A.she} had a"
    " friend named {B}. |]one day, ",
    "{A} and {B} [were friends|lived {q}|were good friends]. [One day|One morning|On {day}], ",
    "",
)

LATER = (
    "[The next day|The next morning|Later|On {day}|After that|A week later|In the evening], ",
    "Then ",
)

MESSAGES = (
    "the {x.full} is {s}",
    "[please |]bring {n} {f.many} to {p.name}",
    "the {z.full} [{p} |]has {x.a}",
    "come to {p.name} on {day} with {x.a}",
    "do not open the {x.full} before {day}",
    "there are {n} {z.plural} {s}",
    "give the {x.full} to the {z}, and keep the {y.full}",
    "I left {x.a} {s} and {y.a} {p}",
    "we will meet {p} on {day}",
)

_LOST = (
    "{A} lost {A.hers} {x.full}. {A.she} [looked|searched] {s}, but the {x} was not there. {A.she} looked "
    "{t}, but the {x} was not there. [{A} was sad and began to cry. |]{B} came to help {A.her}. {B.she} "
    'looked {u}, and there it was! "Is this your {x}?" asked {B}. "Yes, that is my {x.full}," said {A}. '
    '"Thank you, {B}!" {A.she} [gave {B} a hug|was happy again|put the {x} in {A.hers} bag].'
)
_FOUND = (
    "{A} [went|walked] to {p.name} and saw {z.a} {s}. The {z} was [cold and hungry|lost and "
    "afraid|thirsty]. {A} gave it {f.a}, and it [ate the {f}|ate it all up]. {A.she} took the {z} home and "
    'named it {Z}. {B} asked, "[What is its name|What do you call your {z}]?" "It is called {Z}," said '
    "{A}. [From that day on, {Z} and {A} were friends.|{Z} slept {t} every night.|{B} played with {Z}, and "
    "{Z} liked {B.her}.]"
)
_GIFT = (
    "{A} made {x.a} for {B}. {A.she} put it in a [box|bag|basket] and took it to {p.name}. {B} was waiting "
    'there. "This is for you," said {A}. {B} looked and saw the {x.full}. "{x.a}! I love it," {B.she} '
    'said. [{B.she} gave {A} {f.a}, because {A.she} was hungry.|"Thank you, {A}," said {B}, and {B.she} '
    "smiled at {A.her}.|{B.she} showed the {x} to {B.hers} {B.mother}.]"
)
_MARKET = (
    "{A} went to the market. {A.hers} {A.mother} had asked {A.her} to buy {list}. {A} said the words all "
    'the way: "{list}." At the market {A.she} bought {list}. [When {A.she} came home, {A.hers} {A.mother} '
    'asked, "What did you buy?" "I bought {list}," said {A}.|{B} helped {A.her} carry the bags home.|Then '
    "{A.she} met {B}, and they walked home.]"
)
_MESSENGER = (
    '{A} said to {B}, "[Go to {p.name} and tell my {A.mother}|Please tell the {z}]: {m}." {B} ran [all the '
    "way|to {p.name}|as fast as {B.she} could]. {B.she} [did not forget the words|said the words again and "
    'again]. "{A} says: {m}," said {B}. [Then {B.she} went home.|"Thank you, {B}," was the answer, "now I '
    'know: {m}."|{B.she} was {why.mood}, so {B.she} {why.deed}.]'
)
_LETTER = (
    '{A} wrote a letter to {B}. It said: "Dear {B}, {m}. Your friend, {A}." {B} [opened the letter|got the '
    'letter on {day}] and read: "Dear {B}, {m}. Your friend, {A}." [{B} was happy that {A} had written to '
    '{B.her}.|{B.she} wrote back: "Dear {A}, thank you for your letter. Your friend, {B}."]'
)
_SONG = (
    '{A} sat {p} and sang a song: "{song}." {B} liked the song and sang it too: "{song}." [A {z} heard '
    'them and danced.|The {z.full} {s} sang it as well: "{song}."|They sang it again: "{song}."] [{A} and '
    "{B} laughed.|Then they went home.|{A} said that it was {A.hers} song, and {B} said that it was a good "
    "one.]"
)
_COUNT = (
    '{A} and {B} saw {n} {z.plural} {p}. {A} counted them: "{count}." {B} counted them too: "{count}." '
    "[One {z} ran away, and now there were {less} {z.many}.|Both of them were right.|{A.she} gave them {n} "
    "{f.many}, one {f} for each {z}.]"
)
_SHARE = (
    "{A} had {n} {f.many}. {B} had no {f.many}, and {B.she} was hungry. {A} gave one {f} to {B}. Now {A} "
    'had {less} {f.many}, and {B} had one {f}. "[Thank you|You are kind], {A}," said {B}. [{B.she} ate '
    "{B.hers} {f} at once.|They ate together {p}.|{A} smiled, because {B.she} was happy.]"
)
_ECHO = (
    '{A} [taught|was teaching] a {v.full} to talk. {A} said, "{m}." The {v} said, "{m}." {A} said, '
    '"{x.a}." The {v} said, "{x.a}." {A} said, "{A}." The {v} said, "{A}." [{B} heard it and laughed.|{B} '
    'wanted to try too. {B} said, "{y.a}." The {v} said, "{y.a}."]'
)
_FABLE = (
    "{A} told {B} a story: {z.a} met {v.a} {p}. [The {z} had {n} {f.many}, but the {v} had none.|The {v} "
    'wanted the {f.many} of the {z}.] "Give me {f.a}," said the {v}. "[First tell me a story|Only if you '
    'help me find my {x}]," said the {z}. [The {v} told a long story, and the {z} gave it {f.a}.|They '
    "looked {s}, and there was the {x}. The {z} gave the {v} {n} {f.many}.] [After that they were "
    "friends.|Then they slept {t}.|And they never fought again.]"
)
_PLANT = (
    "{A} put a seed into the ground {p}. {A.she} gave it water every day. On Monday {A.she} saw nothing. "
    'On Tuesday {A.she} saw [something green|a small leaf]. {B} came to look. "[What is it|What will it '
    'be]?" {B.she} asked. "It is {r.a} tree," said {A}. They waited. In summer there were {n} {r.many} on '
    "the tree. {A} gave {B} {r.a}, and {B.she} [ate it|put it in {B.hers} bag|was happy]."
)
_RACE = (
    "{A} and {B} ran a race from {p.name} to {q.name}. [{A} was fast, but {B} was faster.|At first {A} was "
    "ahead of {B}.] Then {z.a} jumped onto the path, and {B} fell down. {A} stopped and helped {B.her}. "
    '"Are you all right?" {A.she} asked. "Yes, I am all right," said {B}. [They ran on together.|They '
    "walked to {q.name} together, and nobody won.|{B} won the race, and {A} was happy for {B.her}.]"
)
_HIDE = (
    '{A} and {B} played hide and seek {p}. {A} closed {A.hers} eyes and counted: "{count}." {B} hid {s}. '
    "{A.she} looked {t}, but {B} was not there. {A.she} looked {u}, but {B} was not there. Then {A.she} "
    'looked {s}. "I see you, {B}!" said {A}. {B} laughed. [Now it was the turn of {B} to look.|Then '
    "{B.she} counted, and {A} hid {u}.]"
)
_FEELING = (
    "{A} and {B} were {p}. {A} was {why.mood}, so {A.she} {why.deed}. {B} was {then.mood}, so {B.she} "
    "{then.deed}. [Later|In the evening|After that] {A.she} [told {B.her} a story|gave {B.her} {f.a}|asked "
    '{B.her} for help], and {B.she} [said, "Thank you, {A}."|gave {A.her} {x.a}|was happy]. [They went '
    "home together.|Then {A.she} slept well.|]"
)
_TRADE = (
    '{A} had {x.a}, and {B} had {y.a}. {A} wanted the {y}, and {B} wanted the {x}. "[Give me your {y}, and '
    'I will give you my {x},|Will you give me your {y.full} for my {x.full}?]" {A.she} said. {B} said yes. '
    "Now {A} had the {y.full}, and {B} had the {x.full}. [{A.she} played with {A.hers} {y}, and {B.she} "
    "played with {B.hers} {x}.|{A.she} put {A.hers} {y} {s}, and {B.she} put {B.hers} {x} {t}.|Both were "
    "happy.]"
)
_BOX = (
    '{A} found a box {s}. "What is in the box?" asked {B}. {A} opened it. In the box there were {things}. '
    '"{things}!" said {A}. {B} took the first one, and {A} took the last one. [{B.she} said that {A.she} '
    "was lucky.|{A.she} was so happy that {A.she} {why.deed}.|Then they closed the box and went home.]"
)
_NIGHT = (
    '{A} could not sleep. {A.she} [looked out of the window|lay in bed and listened] and heard a {z}. "[Go '
    'to sleep, {A}|Close your eyes, {A}]," said {A.hers} {A.mother}. {A} closed {A.hers} eyes and dreamed '
    'of {v.a} that could talk. "{m}," said the {v}. In the morning {A} told {B} about {A.hers} dream. "The '
    '{v} said: {m}," said {A}. [{B} laughed.|{B.she} had dreamed of {z.a}.]'
)

STORIES = (
    _LOST, _FOUND, _GIFT, _MARKET, _MESSENGER, _LETTER, _SONG, _COUNT, _SHARE, _ECHO, _FABLE, _PLANT, _RACE,
    _HIDE, _FEELING, _TRADE, _BOX, _NIGHT,
)  # fmt: skip
