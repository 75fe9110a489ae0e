"""The templates of the Chinese stories.

Slots: `A` and `B` are two people, a girl and a boy; `x`, `y`, `w` things; `z`, `v` animals; `Z` the name
of an animal; `p`, `q` places; `s`, `t`, `u` spots; `f`, `g` foods; `r` a fruit; `list`, `things`, `count`
lists; `n`, `less` a number and the one before; `song` sounds; `m` a message; `why`, `then` how
somebody was and what they did about it.
"""

from __future__ import annotations

OPENINGS = (
    "[一天|有一天|一天早上|一天晚上|{day}|去年夏天|春天的时候|冬天的时候|从前]，",
    "从前，有一个{A.child}，名字叫{A}。[有一天|一天|{day}]，",
    "从前，有两个好朋友，{A}和{B}。[有一天|一天|{day}]，",
    "从前有一个{mood}的{A.child}，叫{A}。[{A.ta}住在{q}。|{A.ta}有一个朋友叫{B}。|]有一天，",
    "{A}和{B}[是好朋友|住在{q}|是同学]。[有一天|一天早上|{day}]，",
    "",
)

LATER = ("[第二天|第二天早上|后来|{day}|过了几天|到了晚上]，", "然后，")

MESSAGES = (
    "{x.full}在{s}",
    "[请|]把{n}{f.measure}{f}带到{p}",
    "{p}的{z}有{x.one}",
    "{day}带着{x.one}到{p}来",
    "{day}以前不要打开{x.full}",
    "{s}有{n}{z.measure}{z.full}",
    "把{x.full}给{z}，把{y.full}留下",
    "我把{x.full}放在{s}，把{y.full}放在{t}",
    "我们{day}在{p}见面",
)

_LOST = (
    "{A}的{x.full}不见了。{A.ta}[找了找|看了看]{s}，没有{x}。{A.ta}[找了找|看了看]{t}，也没有{x}。"
    "[{A}很难过，哭了起来。|]{B}来帮{A.ta}找。{B.ta}看了看{u}，{x}就在那里！“这是你的{x}吗？”{B}问。"
    "“是的，这是我的{x.full}。”{A}说，“谢谢你，{B}！”[{A.ta}又高兴了。|{A.ta}把{x}放进了书包。|"
    "{A.ta}抱了抱{B}。]"
)
_FOUND = (
    "{A}来到{p}，看见{z.one}在{s}。{z.that}[又冷又饿|迷路了|很害怕]。{A}给它{f.one}，它[吃完了|"
    "一口就吃了]。{A.ta}把{z}带回家，给它起名叫{Z}。{B}问：“[它叫什么名字|你的{z}叫什么]？”{A}说："
    "“它叫{Z}。”[从那天起，{Z}和{A}成了好朋友。|{Z}每天晚上睡在{t}。|{B}和{Z}一起玩，{Z}也喜欢{B.ta}。]"
)
_GIFT = (
    "{A}给{B}做了{x.one}。{A.ta}把它放进[盒子|书包|篮子|纸袋]里，带到{p}。{B}在那里等{A.ta}。{A}说："
    "“这是给你的。”{B}一看，是{x.one}。“{x.one}！我太喜欢了！”{B.ta}说。[{B.ta}给{A}{f.one}，"
    "因为{A.ta}饿了。|“谢谢你，{A}。”{B}说，{B.ta}对{A.ta}笑了笑。|{B.ta}把{x}拿给自己的{B.parent}看。]"
)
_MARKET = (
    "{A}去市场买东西。{A.ta}的{A.parent}让{A.ta}买{list}。{A}一路上说：“{list}。”到了市场，"
    "{A.ta}买了{list}。[回到家，{A.parent}问：“你买了什么？”{A}说：“我买了{list}。”|"
    "{B}帮{A.ta}把东西拿回家。|后来{A.ta}遇见了{B}，他们一起回家了。]"
)
_MESSENGER = (
    "{A}对{B}说：“[请你到{p}告诉我{A.parent}|请你告诉{z}]：{m}。”{B}[一路跑去|马上就去了|跑得很快]。"
    "{B.ta}[没有忘记这句话|把这句话说了又说]。“{A}说：{m}。”{B}说。[然后{B.ta}回家了。|“谢谢你，{B}，"
    "我知道了：{m}。”|{B.ta}{why.mood}，所以{B.ta}{why.deed}。]"
)
_LETTER = (
    "{A}给{B}写了一封信，信上说：“{B}，你好！{m}。你的朋友{A}。”{B}[打开信|{day}收到了信]，读道：“{B}，"
    "你好！{m}。你的朋友{A}。”[{B}很高兴，因为{A}给{B.ta}写了信。|{B.ta}回信说：“{A}，你好！谢谢你的信。"
    "你的朋友{B}。”]"
)
_SONG = (
    "{A}坐在{p}唱歌：“{song}。”{B}喜欢这首歌，也唱了起来：“{song}。”[{z.one}听见了，跳起舞来。|"
    "{s}的{z.full}也唱了起来：“{song}。”|他们又唱了一遍：“{song}。”][{A}和{B}都笑了。|然后他们回家了。|"
    "{A}说这是{A.ta}的歌，{B}说这首歌真好听。]"
)
_COUNT = (
    "{A}和{B}在{p}看见{n}{z.measure}{z}。{A}数了数：“{count}。”{B}也数了数：“{count}。”"
    "[一{z.measure}{z}跑了，现在只有{less}{z.measure}{z}了。|他们都数对了。|{A}给它们{n}{f.measure}{f}，"
    "每{z.measure}{z}一{f.measure}{f}。]"
)
_SHARE = (
    "{A}有{n}{f.measure}{f}。{B}没有{f}，{B.ta}饿了。{A}给了{B}一{f.measure}{f}。"
    "现在{A}有{less}{f.measure}{f}，{B}有一{f.measure}{f}。“[谢谢你|你真好]，{A}。”{B}说。"
    "[{B.ta}马上把{f}吃了。|他们在{p}一起吃。|{A}笑了，因为{B}很高兴。]"
)
_ECHO = (
    "{A}教{v.one}说话。{A}说：“{m}。”{v}说：“{m}。”{A}说：“{x.one}。”{v}说：“{x.one}。”{A}说：“{A}。”"
    "{v}说：“{A}。”[{B}听见了，笑了起来。|{B}也想试一试。{B}说：“{y.one}。”{v}说：“{y.one}。”]"
)
_FABLE = (
    "{A}给{B}讲了一个故事：{z.one}在{p}遇见了{v.one}。[{z}有{n}{f.measure}{f}，{v}一{f.measure}也没有。|"
    "{v}很想吃{z}的{f}。]{v}说：“给我一{f.measure}{f}吧。”{z}说：“[你先给我讲一个故事|"
    "你先帮我找到我的{x}]。”[{v}讲了一个长长的故事，{z}就给了它一{f.measure}{f}。|它们看了看{s}，"
    "{x}就在那里。{z}给了{v}{n}{f.measure}{f}。][从此它们成了朋友。|然后它们在{t}睡着了。|"
    "它们再也没有吵架。]"
)
_PLANT = (
    "{A}在{p}种下一颗种子。{A.ta}每天给它浇水。星期一，{A.ta}什么也没看见。星期二，"
    "{A.ta}看见了[一片小叶子|一点绿色]。{B}来看，问：“[这是什么|它会长成什么]？”{A}说：“这是一棵{r}树。”"
    "他们等啊等。到了夏天，树上有{n}{r.measure}{r}。{A}给了{B}一{r.measure}{r}，{B.ta}[把它吃了|"
    "把它放进书包|很高兴]。"
)
_RACE = (
    "{A}和{B}比赛跑步，从{p}跑到{q}。[{A}跑得快，{B}跑得更快。|开始的时候，{A}在{B}的前面。]忽然，"
    "{z.one}跳到路上，{B}摔倒了。{A}停下来帮{B.ta}。“你没事吧？”{A.ta}问。“我没事。”{B}说。"
    "[他们一起跑完了。|他们一起走到{q}，谁也没有赢。|最后{B}赢了，{A}为{B.ta}高兴。]"
)
_HIDE = (
    "{A}和{B}在{p}捉迷藏。{A}闭上眼睛数数：“{count}。”{B}藏在{s}。{A.ta}看了看{t}，{B}不在那里。"
    "{A.ta}看了看{u}，{B}也不在那里。{A.ta}又看了看{s}。“我看见你了，{B}！”{A}说。{B}笑了。"
    "[现在轮到{B}来找。|然后{B.ta}数数，{A}藏在{u}。]"
)
_FEELING = (
    "{A}和{B}在{p}。{A}{why.mood}，所以{A.ta}{why.deed}。{B}{then.mood}，所以{B.ta}{then.deed}。[后来|"
    "到了晚上|然后]{A.ta}[给{B.ta}讲了一个故事|给{B.ta}{f.one}|请{B.ta}帮忙]，{B.ta}[说：“谢谢你，{A}。”|"
    "给了{A.ta}{x.one}。|很高兴。][他们一起回家了。|那天晚上，{A.ta}睡得很好。|]"
)
_TRADE = (
    "{A}有{x.one}，{B}有{y.one}。{A}想要{y}，{B}想要{x}。“[你把{y}给我，我把{x}给你，好吗|"
    "我用{x.full}换你的{y.full}，好吗]？”{A.ta}说。{B}说好。现在{A}有{y.full}，{B}有{x.full}。"
    "[{A.ta}玩{A.ta}的{y}，{B.ta}玩{B.ta}的{x}。|{A.ta}把{y}放在{s}，{B.ta}把{x}放在{t}。|他们都很高兴。]"
)
_BOX = (
    "{A}在{s}找到一个箱子。“箱子里有什么？”{B}问。{A}打开箱子，里面有{things}。“{things}！”{A}说。"
    "{B}拿了第一样，{A}拿了最后一样。[{B.ta}说{A.ta}真走运。|{A.ta}很高兴，所以{A.ta}{why.deed}。|"
    "然后他们关上箱子，回家了。]"
)
_NIGHT = (
    "{A}睡不着。{A.ta}[往窗外看|躺在床上听]，[听见|看见]{z.one}。“[快睡吧，{A}|闭上眼睛，{A}]。”"
    "{A.ta}的{A.parent}说。{A}闭上眼睛，梦见{v.one}会说话。{v}说：“{m}。”早上，{A}给{B}讲自己的梦。"
    "“{v}说：{m}。”{A}说。[{B}笑了。|{B}说，{B.ta}梦见了{z.one}。]"
)

STORIES = (
    _LOST, _FOUND, _GIFT, _MARKET, _MESSENGER, _LETTER, _SONG, _COUNT, _SHARE, _ECHO, _FABLE, _PLANT, _RACE,
    _HIDE, _FEELING, _TRADE, _BOX, _NIGHT,
)  # fmt: skip
